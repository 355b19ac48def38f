//! The pages that a person sees. Plain HTML and a little CSS in one document: no scripts, nothing
//! loaded from anywhere.

use super::authorize::AuthorizeRequest;
use super::redirect::{RedirectTarget, is_known_host};
use crate::principal::Access;
use crate::text::escape_html;

/// What the login page says above the form after a failed attempt.
pub const WRONG_PASSWORD: &str = "User name or password is wrong. Nothing has been granted.";
pub const BUSY: &str = "Too many logins at the moment. Please try again in a few seconds.";

/// What a person chose on the login page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// This access to all notes.
    All(Access),
    /// Some folders, chosen on the next page.
    Folders,
    /// Nothing yet.
    Open,
}

/// The login page. Its form goes to the page's own URL, query and all. `abilities` say what the
/// tools in use can do besides reading and changing notes. `user` and `choice` are what was typed
/// and chosen.
pub fn login(
    origin: &str,
    request: &AuthorizeRequest,
    user: &str,
    choice: Choice,
    abilities: &[&str],
    notice: &str,
) -> String {
    let name = escape_html(&request.client.name);
    let (destination, caution) = destination(request.redirect.target());
    let notice = alert(notice);
    let option = |own: Choice, value: &str, label: &str, about: &str| {
        let checked = if own == choice { " checked" } else { "" };
        let about =
            if about.is_empty() { String::new() } else { format!("<small>{about}</small>") };
        format!(
            r#"<label class="choice"><input type="radio" name="access" value="{value}"{checked} required><span>{label}{about}</span></label>
"#
        )
    };
    let folders =
        option(Choice::Folders, "folders", "Only some folders", "chosen on the next page");
    let can_do: String =
        abilities.iter().map(|ability| format!(", {}", escape_html(ability))).collect();
    let (legend, options) = match request.access {
        Access::Write => {
            let about = format!("search, read, create and edit notes{can_do}");
            let write =
                option(Choice::All(Access::Write), "write", "Read and change notes", &about);
            (
                "What it may do",
                write
                    + &option(
                        Choice::All(Access::Read),
                        "read",
                        "Only read notes",
                        "search and read; tools that write are not offered",
                    ),
            )
        }
        Access::Read => {
            // Checked unless folders were chosen.
            let own = if choice == Choice::Folders { Choice::All(Access::Read) } else { choice };
            let read = option(own, "read", "All notes", "");
            ("It asks to read, and will not be able to change anything", read)
        }
    };
    let fields = user_and_password(user);
    document(
        "Log in to your vault",
        origin,
        &format!(
            r#"<h1>Allow access to your vault?</h1>
<p><strong>{name}</strong> <small class="inline">(the name it gave itself)</small> wants to use your Obsidian vault.</p>
<p>After the login you are sent back to {destination}.</p>
{caution}{notice}
<form method="post" action="" autocomplete="on">
<fieldset><legend>{legend}</legend>
{options}{folders}</fieldset>
{fields}<div class="buttons">
<button type="submit" name="decision" value="allow" class="main">Log in and allow</button>
<button type="submit" name="decision" value="deny" formnovalidate>Deny</button>
</div>
</form>"#
        ),
    )
}

/// The fields of a form for user name and password.
pub(crate) fn user_and_password(user: &str) -> String {
    let user = escape_html(user);
    format!(
        r#"<label for="username">User name</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200" value="{user}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="200">
"#
    )
}

/// How the login page names where the person is sent back to, and what to be careful about, as
/// HTML: amber for what is not one of the well-known clients.
fn destination(target: &RedirectTarget) -> (String, &'static str) {
    match target {
        RedirectTarget::Web(host) => (
            format!("<strong>{}</strong>", escape_html(host)),
            if is_known_host(host) {
                ""
            } else {
                r#"<p class="warning">This is not one of the well-known applications. Only continue if you know this address and started this yourself.</p>"#
            },
        ),
        RedirectTarget::Loopback(host) => (
            format!("<strong>an app on this computer</strong> ({})", escape_html(host)),
            "<p>The app runs on the computer you are using now. Only continue if you just started the login there.</p>",
        ),
        RedirectTarget::Application(scheme) => (
            format!("<strong>the app “{}” on this computer</strong>", escape_html(scheme)),
            r#"<p class="warning">An app that is installed on this computer takes over after the login. Only continue if you just started the login there.</p>"#,
        ),
    }
}

/// The page on which a person who has logged in chooses folders.
pub fn folders(
    origin: &str,
    request: &AuthorizeRequest,
    proof: &str,
    folders: &[String],
    is_all: bool,
    notice: &str,
) -> String {
    let change = if request.access == Access::Write {
        r#"<option value="change">read and change"#
    } else {
        ""
    };
    let select = |name: &str| {
        format!(
            r#"<select name="{name}"><option value="">no<option value="read">read{change}</select>"#
        )
    };
    let row = |folder: &String| {
        let name = escape_html(folder);
        let select = select(&format!("folder:{name}"));
        format!("<label class=\"folder\"><span>{name}</span>{select}</label>\n")
    };
    // Each folder of the first level, and folded below it those in it.
    let below = |folder: &String| {
        let inside = folders.iter().filter(|other| {
            other.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        let rows: Vec<String> = inside.map(row).collect();
        match rows.len() {
            0 => String::new(),
            count => {
                format!("<details><summary>{count} in it</summary>\n{}</details>\n", rows.concat())
            }
        }
    };
    let top = folders.iter().filter(|folder| !folder.contains('/'));
    let rows: String = top.map(|folder| row(folder) + &below(folder)).collect();
    let notice = alert(notice);
    let more = if is_all { "" } else { "There are more folders than are listed. " };
    let other = format!(
        r#"<label for="path">Another folder</label>
<small>{more}A path such as Work/Clients/2026</small>
<div class="folder"><input id="path" name="path" type="text" autocapitalize="none" spellcheck="false" maxlength="1000">{}</div>
"#,
        select("path_access")
    );
    document(
        "Choose folders",
        origin,
        &format!(
            r#"<h1>Which folders?</h1>
<p><strong>{}</strong> will see only what you choose, with all that lies below; for it, nothing else exists.</p>
{notice}
<form method="post" action="">
<input type="hidden" name="login" value="{}">
{rows}{other}<div class="buttons">
<button type="submit" name="decision" value="allow" class="main">Allow</button>
<button type="submit" name="decision" value="deny" formnovalidate>Deny</button>
</div>
</form>"#,
            escape_html(&request.client.name),
            escape_html(proof)
        ),
    )
}

/// A notice about what went wrong, if there is one.
pub(crate) fn alert(notice: &str) -> String {
    if notice.is_empty() {
        String::new()
    } else {
        format!(r#"<p class="error" role="alert">{notice}</p>"#)
    }
}

/// What a person sees who denied a request of an application that the browser is not sent back to.
pub fn denied(origin: &str) -> String {
    document(
        "Denied",
        origin,
        "<h1>Denied</h1>\n<p>Nothing has been granted. You can close this page.</p>",
    )
}

/// A page that says what is wrong and what to do.
pub fn error(origin: &str, why: &str, advice: &str) -> String {
    document(
        "This did not work",
        origin,
        &format!(
            "<h1>This did not work</h1>\n<p>{}</p>\n<p>{}</p>",
            escape_html(why),
            escape_html(advice)
        ),
    )
}

/// The page at `/`. A site on the web cannot reach a server of this computer alone.
pub fn home(origin: &str, has_account: bool) -> String {
    let url = escape_html(origin);
    let steps = if origin.starts_with("http:") {
        format!(
            r#"<p>It serves this computer alone. For Claude Code, in a terminal:</p>
<p><code>claude mcp add --transport http vault {url}/mcp</code></p>
<p>Then <code class="inline">/mcp</code> in Claude Code opens the login. The server’s own commands, such as <code class="inline">init</code>, set it up for Claude on the web.</p>"#
        )
    } else {
        format!(
            r#"<p>In Claude:</p>
<ol>
<li>Open Settings, Connectors, and choose “Add custom connector”.</li>
<li>Paste this URL and confirm: <code>{url}/mcp</code></li>
<li>Choose Connect, and log in on the page that opens.</li>
</ol>"#
        )
    };
    let account = if has_account {
        r#"<p><a href="/account">Logins and changes</a>: see them, end them, take them back.</p>"#
    } else {
        ""
    };
    document(
        "Obsidian vault for MCP clients",
        origin,
        &format!(
            "<h1>Obsidian vault</h1>\n<p>This server gives Claude and other MCP clients access to an \
             Obsidian vault, after a login.</p>\n{steps}\n{account}"
        ),
    )
}

/// The page that opens a note in Obsidian on the device that shows it. It shows only what its URL
/// says.
pub fn open(origin: &str, vault: &str, file: &str, target: &str) -> String {
    document(
        "Open in Obsidian",
        origin,
        &format!(
            r#"<h1>Open in Obsidian</h1>
<p>A note of the vault {}:</p>
<p><code>{}</code></p>
<p><a class="button" href="{}">Open in Obsidian</a></p>
<p><small>Obsidian has to have this vault on this device.</small></p>"#,
            escape_html(vault),
            escape_html(file),
            escape_html(target)
        ),
    )
}

const STYLE: &str = include_str!("page.css");

/// A page with the name of the program and the host of the server.
pub(crate) fn document(title: &str, origin: &str, body: &str) -> String {
    let host = escape_html(origin.split_once("://").map_or(origin, |(_, host)| host));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" content=\"noindex\">\n<link rel=\"icon\" href=\"{ICON}\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<p class=\"whose\"><img src=\"{ICON}\" alt=\"\"> vault-sync-mcp · {host}</p>\n{body}\n</main>\n</body>\n</html>\n"
    )
}

/// The icon as a `data:` URL.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%237c5cd6' d='M8 0l6 5-2 9-4 2-4-2-2-9z'/%3E%3C/svg%3E";

/// The Content-Security-Policy of every page: nothing but our own inline style and the icon. There
/// is no `form-action`, on purpose: browsers apply it to the redirects after the form too, and the
/// last hops of a login (`claude.ai`, then an application's own scheme) cannot be known here.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_client_sends_can_become_markup() {
        assert_eq!(escape_html(r#"<script>"&'"#), "&lt;script&gt;&quot;&amp;&#39;");
        let page = error("https://h", "<b>", "\"'>");
        assert!(!page.contains("<b>") && !page.contains("\"'>"));
    }
}
