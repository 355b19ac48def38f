//! The table of settings: variable, default, what it is. `--help`, the parser, the error messages
//! and the check of the README all read it.

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The environment variable; also the setting's name in messages.
    pub variable: &'static str,
    /// The placeholder for the value in `--help`; empty for a setting that is on when its flag is
    /// given.
    pub placeholder: &'static str,
    /// The default as shown to people; empty when there is none.
    pub default: &'static str,
    /// A value that works.
    pub example: &'static str,
    pub help: &'static str,
}

impl Setting {
    /// The flag, without the dashes; empty for a secret, which must not be on a command line that
    /// other users can see.
    pub fn flag(&self) -> String {
        if self.variable == "ANTHROPIC_API_KEY" {
            String::new()
        } else {
            self.variable.to_ascii_lowercase().replace('_', "-")
        }
    }
}

macro_rules! settings {
    ($($variable:literal $placeholder:literal $default:literal $example:literal $help:literal;)*) => {
        &[$(Setting { variable: $variable, placeholder: $placeholder, default: $default, example: $example, help: $help }),*]
    };
}

/// The settings, in the order of `--help`.
pub static SETTINGS: &[Setting] = settings! {
    "VAULT_PATH" "FOLDER" "" "/data/obsidian-vault"
        "The vault's folder; ~ is your home. Required.";
    "LISTEN_ADDR" "ADDRESS" ":8090" "127.0.0.1:8090"
        "Address and port to listen on; without an address on all of them.";
    "SERVER_URL" "URL" "" "https://vault.example.com"
        "The URL clients reach this server at, without path or slash at the end. Required to serve.";
    "AUTH_USERS" "LIST" "" "alex:$2b$12$..."
        "Who may log in: user:bcrypt_hash, separated by commas. See hash-password.";
    "CLIENT_CREDENTIALS" "LIST" "" "backup:9f86d081...:read"
        "Machine clients: client_id:sha256_of_secret, or with :read at the end, separated by commas. See generate-token.";
    "API_TOKENS" "LIST" "" "laptop:9f86d081...:read"
        "API tokens: name:sha256, name:sha256:read or name:sha256:read=A/;B/:write=C/, separated by commas. See generate-token.";
    "STATE_DIR" "FOLDER" "" "/var/lib/vault-sync-mcp"
        "Folder for logins, which survive a restart, and for what tools replace and delete. Without it STATE_DIRECTORY (systemd), else one for each vault in XDG_STATE_HOME or ~/.local/state. none keeps nothing.";
    "VERSIONS" "0|1" "1" "0"
        "Keep what tools replace and delete in STATE_DIR: 30 days, 256 MB, and the newest version of each file. 0 keeps nothing.";
    "ACCOUNT_PAGE" "0|1" "1" "0"
        "The page /account, on which a user sees their logins and what these changed, and takes it back. 0 switches it off.";
    "REFRESH_WINDOW" "SECONDS" "3600" "600"
        "How long an exchanged refresh token still yields its successor; after that, using it ends the login.";
    "REDIRECT_HOSTS" "LIST" "" "app.example.com"
        "Web sites, besides Claude's and other well-known clients', to which a login may lead back, or *, and schemes of applications (warp:), separated by commas.";
    "TOOLSETS" "LIST" "vault" "vault,context"
        "Groups of tools to offer, separated by commas, or all: vault, notes, context, git, accomplishments, agent, research.";
    "READ_ONLY" "" "false" "true"
        "Offer no tool that writes, to any login.";
    "READ_LINES" "NUMBER" "200" "200"
        "Lines that vault_read shows of a long file when no range is asked for.";
    "TIME_ZONE" "ZONE" "" "Europe/Berlin"
        "The time zone of days and times (daily:today, vault_query). Without it the system's.";
    "HIDE" "PATTERNS" "" "Private/;*.pdf"
        "Files and folders that are hidden from every login: glob patterns in any case, separated by ;. A pattern with a slash before its end is a path from the vault's root.";
    "CONTEXT_CONFIG" "FILE" "" "/etc/vault-sync-mcp-context.yaml"
        "Toolset context: a YAML file with default_context, what fetch_context loads without a type.";
    "GIT_REMOTE" "NAME" "origin" "origin"
        "Toolset git: the remote that every change is pushed to. Without a remote, commits stay local.";
    "GIT_BRANCH" "NAME" "main" "main"
        "Toolset git: the branch that is committed to; the repository has to be on it.";
    "GIT_TIMEOUT_MS" "NUMBER" "30000" "30000"
        "Toolset git: how long one call may take, push included, in milliseconds.";
    "ACCOMPLISHMENTS_FOLDER" "FOLDER" "" "accomplishments"
        "Toolset accomplishments: the folder of its notes, in the vault. Required for that toolset.";
    "DEFAULT_CANVAS" "FILE" "" "projects/main.canvas"
        "Toolset accomplishments: the canvas that is meant when none is named. Required for that toolset.";
    "CONTEXT_DOCS_FOLDER" "FOLDER" "" "docs"
        "Toolset accomplishments: a folder of further context documents, in the vault.";
    "AGENT_COMMAND" "PROGRAM" "claude" "/usr/local/bin/claude"
        "Toolset agent: the Claude Code program, by name or absolute path.";
    "ANTHROPIC_API_KEY" "KEY" "" "sk-ant-..."
        "Toolset agent: the key for the API. Only as a variable: a command line can be seen by other users.";
    "ANTHROPIC_BASE_URL" "URL" "" "https://gateway.example.com"
        "Toolset agent: where the API is, if not at Anthropic.";
    "COS_VAULT_MODEL" "NAME" "claude-sonnet-4-6" "claude-sonnet-4-6"
        "Toolset agent: the model of its sessions.";
    "COS_VAULT_MAX_TURNS" "NUMBER" "30" "30"
        "Toolset agent: how many turns one session may take.";
    "COS_VAULT_TIMEOUT_MS" "NUMBER" "180000" "180000"
        "Toolset agent: how long one session may take, in milliseconds.";
    "COS_VAULT_ATTACH_DIRS" "FOLDERS" "" "/srv/scans:/srv/mail"
        "Toolset agent: folders outside the vault from which ingest may be given files, separated by colons.";
    "COS_VAULT_CONCURRENCY" "NUMBER" "2" "2"
        "Toolset agent: how many sessions may run at the same time.";
    "ALLOWED_ORIGINS" "LIST" "" "https://app.example.com"
        "Further browser origins that may call, separated by commas, or *.";
    "ALLOWED_HOSTS" "LIST" "" "vault:8090"
        "Further names, with or without a port, under which clients reach this server, separated by commas.";
    "TRUSTED_PROXIES" "LIST" "" "127.0.0.1,172.16.0.0/12"
        "Addresses and networks of proxies whose X-Forwarded-For is believed, separated by commas.";
    "WORKERS" "NUMBER" "8 per processor core" "16"
        "Requests handled at the same time.";
    "MAX_CONNECTIONS" "NUMBER" "512" "512"
        "Connections open at the same time.";
    "LOG_LEVEL" "LEVEL" "info" "debug"
        "error, warn, info, debug or trace.";
};

/// The setting that was probably meant by an unknown name, of a variable or of a flag without its
/// dashes: one typing mistake for every four letters, two at most.
pub fn meant_by(name: &str) -> Option<&'static Setting> {
    let name = name.to_ascii_uppercase().replace('-', "_");
    // Its name in other servers, too far from ours for the distance.
    if name == "VAULT_DIR" {
        return SETTINGS.iter().find(|setting| setting.variable == "VAULT_PATH");
    }
    let most = (name.len() / 4).min(2);
    let distances =
        SETTINGS.iter().map(|setting| (strsim::osa_distance(&name, setting.variable), setting));
    distances
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, setting)| setting)
}

/// The value of a setting that is on or off.
pub fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "false" | "0" | "no" | "off" => Some(false),
        "true" | "1" | "yes" | "on" => Some(true),
        _ => None,
    }
}

/// The setting of a flag.
pub fn of_flag(flag: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| !flag.is_empty() && setting.flag() == flag)
}
