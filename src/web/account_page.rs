//! The HTML of `/account`. Every page is below 20 KB.

use crate::change::calls::{FileChange, FileText};
use crate::change::undo::Undone;
use crate::clock::Moment;
use crate::oauth::page::{alert, document, user_and_password};
use crate::principal::Access;
use crate::text::escape_html;
use crate::vault::{GrantedFolders, VaultPath};

pub(super) const WRONG_PASSWORD: &str = "User name or password is wrong.";

/// Bytes of HTML of all texts, and of one of them, on the page of a call.
const TEXTS_BYTES: usize = 11_000;
const TEXT_BYTES: usize = 2_500;
/// Equal lines that are shown around those that differ.
const LINES_AROUND: usize = 2;
/// Equal characters that are shown before the first that differs, at most.
const CHARS_BEFORE: usize = 400;
/// Bytes of HTML of lines about what is taken back, and about what is left alone.
const LIST_BYTES: usize = 6_000;
/// Bytes of HTML of a path or name in the overview, and of a line about a change elsewhere.
const NAME_BYTES: usize = 100;
const LINE_BYTES: usize = 400;

/// A login as it is listed.
pub(super) struct LoginRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) host: String,
    pub(super) allowed: String,
    pub(super) since: Moment,
    pub(super) used: Moment,
}

/// A call as it is listed.
pub(super) struct CallRow {
    pub(super) id: String,
    /// Its first change, and how many more there are.
    pub(super) first: String,
    pub(super) more: usize,
    pub(super) by: String,
    pub(super) tool: String,
    pub(super) at: Moment,
    pub(super) is_undone: bool,
}

pub(super) struct Overview<'a> {
    pub(super) user: &'a str,
    pub(super) logins: Vec<LoginRow>,
    pub(super) more_logins: usize,
    pub(super) calls: Vec<CallRow>,
    /// Why there is no list of calls.
    pub(super) no_calls: String,
    /// Where older calls begin.
    pub(super) older: Option<usize>,
}

/// What a login may do, in words.
pub(super) fn allowed(access: Access, folders: Option<&GrantedFolders>) -> String {
    let list = |paths: &[VaultPath]| {
        let paths: Vec<String> = paths.iter().map(|path| format!("{}/", path.as_str())).collect();
        paths.join(", ")
    };
    let Some(folders) = folders else {
        let words = match access {
            Access::Read => "reads all notes",
            Access::Write => "reads and changes all notes",
        };
        return words.into();
    };
    let reads = match folders.read.as_deref() {
        None => Some("reads all notes".to_owned()),
        Some([]) => None,
        Some(paths) => Some(format!("reads {}", list(paths))),
    };
    let changes =
        (!folders.write.is_empty()).then(|| format!("reads and changes {}", list(&folders.write)));
    reads.into_iter().chain(changes).collect::<Vec<String>>().join("; ")
}

/// `2026-11-30 17:02 UTC`.
fn time(moment: Moment) -> String {
    let text = moment.rfc3339();
    let minutes: String = text.chars().take(16).collect();
    format!("{} UTC", minutes.replace('T', " "))
}

/// The beginning of a text as HTML of at most so many bytes.
fn cut(text: &str, max_bytes: usize) -> String {
    let mut html = String::new();
    // Marks that turn the direction of writing would change what stands beside it.
    let is_turn = |char: &char| matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    for char in text.chars().filter(|char| !is_turn(char)) {
        let escaped = escape_html(char.encode_utf8(&mut [0; 4]));
        if html.len() + escaped.len() > max_bytes {
            html.push('…');
            break;
        }
        html += &escaped;
    }
    html
}

fn name(text: &str) -> String {
    cut(text, NAME_BYTES)
}

pub(super) fn log_in(origin: &str, notice: &str) -> String {
    let (notice, fields) = (alert(notice), user_and_password(""));
    document(
        "Your vault",
        origin,
        &format!(
            r#"<h1>Your vault</h1>
<p>See which applications are logged in and what they have changed, and take it back.</p>
{notice}<form method="post" action="/account" autocomplete="on">
{fields}<div class="buttons"><button type="submit" class="main">Log in</button></div>
</form>"#
        ),
    )
}

/// A form with hidden fields and buttons: value of `do`, class, label.
fn form(token: &str, hidden: &[(&str, &str)], buttons: &[(&str, &str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| {
        format!(r#"<input type="hidden" name="{name}" value="{}">"#, escape_html(value))
    };
    let hidden: String = [("token", token)].iter().chain(hidden).map(field).collect();
    let button = |(value, class, label): &(&str, &str, &str)| {
        format!(
            r#"<button type="submit" name="do" value="{value}" class="{class}">{label}</button>"#
        )
    };
    let buttons: String = buttons.iter().map(button).collect();
    format!("<form method=\"post\" action=\"/account\">{hidden}{buttons}</form>\n")
}

fn row(left: &str, right: &str) -> String {
    format!("<div class=\"row\"><div>{left}</div>{right}</div>\n")
}

fn call_row(call: &CallRow) -> String {
    let more = if call.more > 0 { format!(" and {} more", call.more) } else { String::new() };
    let undone = if call.is_undone { " · taken back" } else { "" };
    row(
        &format!(
            r#"<a href="/account?call={}">{}</a>{more}<small>{} by {} · {}{undone}</small>"#,
            escape_html(&call.id),
            name(&call.first),
            name(&call.tool),
            name(&call.by),
            time(call.at)
        ),
        "",
    )
}

pub(super) fn overview(origin: &str, shown: &Overview<'_>, token: &str, notice: &str) -> String {
    let login = |login: &LoginRow| {
        let words = format!(
            "<strong>{}</strong> {}<small>{} · since {} · last used {}</small>",
            name(&login.name),
            name(&login.host),
            name(&login.allowed),
            time(login.since),
            time(login.used)
        );
        row(&words, &form(token, &[("grant", &login.id)], &[("revoke", "", "Revoke")]))
    };
    let logins: String = match (shown.logins.is_empty(), shown.more_logins) {
        (true, _) => "<p>No application is logged in.</p>".into(),
        (false, 0) => shown.logins.iter().map(login).collect(),
        (false, more) => {
            let rows: String = shown.logins.iter().map(login).collect();
            format!("{rows}<p>and {more} more: the command grants lists them</p>")
        }
    };
    let calls: String = match (shown.calls.is_empty(), shown.no_calls.as_str()) {
        (true, "") => "<p>Nothing is known that was changed.</p>".into(),
        (true, why) => format!("<p>{}</p>", escape_html(why)),
        (false, _) => shown.calls.iter().map(call_row).collect(),
    };
    let older = shown.older.map_or(String::new(), |from| {
        format!(r#"<p><a href="/account?from={from}">Older changes</a></p>"#)
    });
    let log_out = form(token, &[], &[("logout", "", "Log out")]);
    let who = row(&format!("Logged in as <strong>{}</strong>", name(shown.user)), &log_out);
    let notice = if notice.is_empty() {
        String::new()
    } else {
        format!("<p role=\"status\">{notice}</p>\n")
    };
    document(
        "Your vault",
        origin,
        &format!(
            "<h1>Your vault</h1>\n{who}{notice}<h2>Logins</h2>\n{logins}\n<h2>Changes</h2>\n{calls}\n{older}"
        ),
    )
}

/// What a call did, with the texts before and after.
pub(super) fn call(origin: &str, row: &CallRow, files: &[FileChange], token: &str) -> String {
    let mut left = TEXTS_BYTES;
    let mut shown = String::new();
    for file in files {
        let title = cut(&file.what, LINE_BYTES.min(left));
        left = left.saturating_sub(title.len());
        shown += &format!("<h2>{title}</h2>\n");
        let Some([before, after]) = &file.texts else { continue };
        if left == 0 {
            shown += "<p><small>not shown: there is too much</small></p>\n";
            continue;
        }
        for (when, part) in ["Before", "After"].iter().zip(texts(before, after)) {
            let html = cut(&part, TEXT_BYTES.min(left));
            left = left.saturating_sub(html.len());
            shown += &format!("<p><small>{when}</small></p>\n<pre>{html}</pre>\n");
        }
    }
    let rest = (row.more + 1).saturating_sub(files.len());
    if rest > 0 {
        shown += &format!("<p>and {rest} more</p>\n");
    }
    let hidden = [("call", row.id.as_str())];
    let all = [("call", row.id.as_str()), ("all", "1")];
    let take_back = form(token, &hidden, &[("look", "main", "Take this back …")])
        + &form(token, &all, &[("look", "", "Take back this and all that the login did since …")]);
    document(
        "What was changed",
        origin,
        &format!(
            "<h1>What was changed</h1>\n<p>{} by {} · {}{}</p>\n{take_back}{shown}\
             <p><a href=\"/account\">Back</a></p>",
            name(&row.tool),
            name(&row.by),
            time(row.at),
            if row.is_undone { " · taken back" } else { "" }
        ),
    )
}

/// The parts of two texts from the first difference to the last, each as words for it or as its
/// lines.
fn texts(before: &FileText, after: &FileText) -> [String; 2] {
    let (FileText::Text(old), FileText::Text(new)) = (before, after) else {
        return [before, after].map(|text| match text {
            FileText::NoFile => "(no file)".into(),
            FileText::Text(text) => text.clone(),
            FileText::Bytes(count) => format!("({count} bytes that are no text)"),
            FileText::Unknown => "(not kept)".into(),
        });
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old == new {
        return ["(only ends of lines differ)".into(), "(only ends of lines differ)".into()];
    }
    let same = |(one, other): &(&&str, &&str)| one == other;
    let above = old.iter().zip(&new).take_while(same).count();
    let shorter = old.len().min(new.len()) - above;
    let below = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(same).count();
    let part = |lines: &[&str]| {
        let start = above.saturating_sub(LINES_AROUND);
        let end = (lines.len() - below + LINES_AROUND).min(lines.len());
        let cut = |is_cut: bool| if is_cut { "…\n" } else { "" };
        let shown = lines.get(start..end).unwrap_or_default().join("\n");
        format!("{}{shown}\n{}", cut(start > 0), cut(end < lines.len()))
    };
    let parts = [part(&old), part(&new)];
    // In a long line, or behind one, the difference may be far from the beginning.
    let [one, other] = &parts;
    let equal = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    match equal.checked_sub(CHARS_BEFORE) {
        None | Some(0) => parts,
        Some(skipped) => {
            parts.map(|part| format!("…{}", part.chars().skip(skipped).collect::<String>()))
        }
    }
}

/// What is, or with a token for the form would be, taken back, and what is left alone.
pub(super) fn taken_back(
    origin: &str,
    row: &CallRow,
    is_all: bool,
    undone: &Undone,
    token: &str,
) -> String {
    let is_question = !token.is_empty();
    let list = |title: &str, lines: &[String]| {
        if lines.is_empty() {
            return String::new();
        }
        let mut left = LIST_BYTES;
        let mut fits = |line: &String| {
            left = left.saturating_sub(line.len() + 10);
            left > 0
        };
        let fitting: Vec<String> =
            lines.iter().map(|line| cut(line, LINE_BYTES)).take_while(&mut fits).collect();
        let rest = lines.len() - fitting.len();
        let rows: String = fitting.iter().map(|line| format!("<li>{line}</li>\n")).collect();
        let rest = if rest > 0 { format!("<p>and {rest} more</p>\n") } else { String::new() };
        format!("<h2>{title} ({})</h2>\n<ul>\n{rows}</ul>\n{rest}", lines.len())
    };
    let (title, done) = if is_question {
        ("Take this back?", "This would be taken back")
    } else {
        ("Taken back", "Taken back")
    };
    let nothing =
        if undone.done.is_empty() { "<p>There is nothing to take back.</p>\n" } else { "" };
    let until = undone.newest.as_deref().unwrap_or_default();
    let hidden: &[(&str, &str)] = match is_all {
        true => &[("call", &row.id), ("all", "1"), ("until", until)],
        false => &[("call", &row.id)],
    };
    let confirm = if is_question && !undone.done.is_empty() {
        form(token, hidden, &[("undo", "main", "Take back")])
    } else {
        String::new()
    };
    document(
        title,
        origin,
        &format!(
            "<h1>{title}</h1>\n{nothing}{}{}{confirm}<p><a href=\"/account\">Back</a></p>",
            list(done, &undone.done),
            list("Left alone", &undone.left)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let text = |text: &str| FileText::Text(text.into());
        let old = text("1\n2\n3\n4\n5\n6\n7\n8\n");
        let new = text("1\n2\n3\n4\nfive\nmore\n6\n7\n8\n");
        let [before, after] = texts(&old, &new);
        assert_eq!(before, "…\n3\n4\n5\n6\n7\n…\n");
        assert_eq!(after, "…\n3\n4\nfive\nmore\n6\n7\n…\n");
        let far = |end: &str| text(&format!("{}{end}", "x".repeat(5_000)));
        let [before, after] = texts(&far("100"), &far("900"));
        assert!(before.len() < 500 && before.ends_with("x100\n") && after.ends_with("x900\n"));
        assert!(texts(&text("a\r\n"), &text("a\n"))[0].contains("ends of lines"));
        for (old, new) in [("", "a\n"), ("a\na\n", "a\n"), ("a\n", "a\na\na\n")] {
            let [before, after] = texts(&text(old), &text(new));
            assert!(before.trim() == old.trim() && after.trim() == new.trim(), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_text_is_escaped_and_cut() {
        assert_eq!(cut("a<b", 100), "a&lt;b");
        assert_eq!(cut("<<<", 9), "&lt;&lt;…");
    }
}
