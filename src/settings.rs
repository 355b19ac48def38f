//! THE table of settings: flag, variable, default, what it is. `--help`, the parser, the error messages and the check of
//! the README all read it.

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The flag, without the dashes; empty for a secret, which must not be on a command line that other users can see.
    pub flag: &'static str,
    /// The environment variable; also the setting's name in messages.
    pub variable: &'static str,
    /// What stands for the value in `--help`; empty for a setting that is on when its flag is given.
    pub value: &'static str,
    /// The default as shown to people; empty when there is none.
    pub default: &'static str,
    /// What it is.
    pub help: &'static str,
    /// A value that works.
    pub example: &'static str,
}

/// The settings, in the order of `--help`.
pub static SETTINGS: [Setting; 43] = [
    Setting {
        flag: "vault-path",
        variable: "VAULT_PATH",
        value: "FOLDER",
        default: "",
        help: "The vault's folder, absolute; ~ is your home. Required.",
        example: "/data/obsidian-vault",
    },
    Setting {
        flag: "listen-addr",
        variable: "LISTEN_ADDR",
        value: "ADDRESS",
        default: ":8090",
        help: "Address and port to listen on; without an address on all of them.",
        example: "127.0.0.1:8090",
    },
    Setting {
        flag: "server-url",
        variable: "SERVER_URL",
        value: "URL",
        default: "",
        help: "The URL clients reach this server at, without path or slash at the end. Required to serve.",
        example: "https://vault.example.com",
    },
    Setting {
        flag: "auth-users",
        variable: "AUTH_USERS",
        value: "LIST",
        default: "",
        help: "Who may log in: user:bcrypt_hash, separated by commas. See hash-password.",
        example: "alex:$2b$12$...",
    },
    Setting {
        flag: "client-credentials",
        variable: "CLIENT_CREDENTIALS",
        value: "LIST",
        default: "",
        help: "Machine clients: client_id:sha256_of_secret, or with :read at the end, separated by commas. See generate-token.",
        example: "backup:9f86d081...:read",
    },
    Setting {
        flag: "api-tokens",
        variable: "API_TOKENS",
        value: "LIST",
        default: "",
        help: "API tokens: name:sha256 or name:sha256:read, separated by commas. See generate-token.",
        example: "laptop:9f86d081...:read",
    },
    Setting {
        flag: "state-dir",
        variable: "STATE_DIR",
        value: "FOLDER",
        default: "",
        help: "Folder for logins that survive a restart, and for what tools replace and delete. Without one logins are kept in memory, and versions not at all.",
        example: "/var/lib/vault-sync-mcp",
    },
    Setting {
        flag: "versions",
        variable: "VERSIONS",
        value: "TRUTH",
        default: "1",
        help: "Keep what tools replace and delete in STATE_DIR: 30 days, 256 MB, and the newest version of each file. 0 keeps nothing.",
        example: "0",
    },
    Setting {
        flag: "refresh-window",
        variable: "REFRESH_WINDOW",
        value: "SECONDS",
        default: "3600",
        help: "How long a refresh token that was exchanged already leads to its successor; after it, its use ends the login.",
        example: "600",
    },
    Setting {
        flag: "redirect-hosts",
        variable: "REDIRECT_HOSTS",
        value: "LIST",
        default: "",
        help: "Web sites, beside Claude's and other well-known clients', to which a login may lead back, separated by commas, or *.",
        example: "app.example.com",
    },
    Setting {
        flag: "client-metadata-documents",
        variable: "CLIENT_METADATA_DOCUMENTS",
        value: "",
        default: "false",
        help: "Let Claude and Claude Code name themselves by their published documents, which are built in, instead of registering.",
        example: "true",
    },
    Setting {
        flag: "toolsets",
        variable: "TOOLSETS",
        value: "LIST",
        default: "vault",
        help: "Groups of tools to offer, separated by commas, or all: vault, context, git, accomplishments, agent.",
        example: "vault,context",
    },
    Setting {
        flag: "read-only",
        variable: "READ_ONLY",
        value: "",
        default: "false",
        help: "Offer no tool that writes, to any login.",
        example: "true",
    },
    Setting {
        flag: "read-lines",
        variable: "READ_LINES",
        value: "NUMBER",
        default: "200",
        help: "Lines that vault_read shows of a long file when no range is asked for.",
        example: "200",
    },
    Setting {
        flag: "time-zone",
        variable: "TIME_ZONE",
        value: "ZONE",
        default: "",
        help: "The time zone in which daily:today is today. Without it the system's.",
        example: "Europe/Berlin",
    },
    Setting {
        flag: "search-memory",
        variable: "SEARCH_MEMORY",
        value: "HOW",
        default: "full",
        help: "full: all texts are kept in memory, and a search reads nothing. small: a quarter of that, and a search reads the files it may find.",
        example: "small",
    },
    Setting {
        flag: "hide",
        variable: "HIDE",
        value: "PATTERNS",
        default: "",
        help: "Files and folders that are served to no login: patterns as in .gitignore, separated by ;.",
        example: "Private/;*.pdf",
    },
    Setting {
        flag: "context-config",
        variable: "CONTEXT_CONFIG",
        value: "FILE",
        default: "",
        help: "Toolset context: a YAML file with default_context, what fetch_context loads without a type.",
        example: "/etc/vault-sync-mcp-context.yaml",
    },
    Setting {
        flag: "git-remote",
        variable: "GIT_REMOTE",
        value: "NAME",
        default: "origin",
        help: "Toolset git: the remote that every change is pushed to. Without any remote commits stay here.",
        example: "origin",
    },
    Setting {
        flag: "git-branch",
        variable: "GIT_BRANCH",
        value: "NAME",
        default: "main",
        help: "Toolset git: the branch that is committed to; the repository has to be on it.",
        example: "main",
    },
    Setting {
        flag: "git-timeout-ms",
        variable: "GIT_TIMEOUT_MS",
        value: "NUMBER",
        default: "30000",
        help: "Toolset git: how long one call may take, push included, in milliseconds.",
        example: "30000",
    },
    Setting {
        flag: "accomplishments-folder",
        variable: "ACCOMPLISHMENTS_FOLDER",
        value: "FOLDER",
        default: "",
        help: "Toolset accomplishments: the folder of its notes, in the vault. Required for that toolset.",
        example: "accomplishments",
    },
    Setting {
        flag: "default-canvas",
        variable: "DEFAULT_CANVAS",
        value: "FILE",
        default: "",
        help: "Toolset accomplishments: the canvas that is meant when none is named. Required for that toolset.",
        example: "projects/main.canvas",
    },
    Setting {
        flag: "context-docs-folder",
        variable: "CONTEXT_DOCS_FOLDER",
        value: "FOLDER",
        default: "",
        help: "Toolset accomplishments: a folder of further context documents, in the vault.",
        example: "docs",
    },
    Setting {
        flag: "agent-command",
        variable: "AGENT_COMMAND",
        value: "PROGRAM",
        default: "claude",
        help: "Toolset agent: the Claude Code program, by name or absolute path.",
        example: "/usr/local/bin/claude",
    },
    Setting {
        flag: "",
        variable: "ANTHROPIC_API_KEY",
        value: "KEY",
        default: "",
        help: "Toolset agent: the key for the API. Only as a variable: a command line can be seen by other users.",
        example: "sk-ant-...",
    },
    Setting {
        flag: "anthropic-base-url",
        variable: "ANTHROPIC_BASE_URL",
        value: "URL",
        default: "",
        help: "Toolset agent: where the API is, if not at Anthropic.",
        example: "https://gateway.example.com",
    },
    Setting {
        flag: "cos-vault-model",
        variable: "COS_VAULT_MODEL",
        value: "NAME",
        default: "claude-sonnet-4-6",
        help: "Toolset agent: the model of a session that files.",
        example: "claude-sonnet-4-6",
    },
    Setting {
        flag: "cos-vault-max-turns",
        variable: "COS_VAULT_MAX_TURNS",
        value: "NUMBER",
        default: "30",
        help: "Toolset agent: how many turns one session may take.",
        example: "30",
    },
    Setting {
        flag: "cos-vault-max-budget-usd",
        variable: "COS_VAULT_MAX_BUDGET_USD",
        value: "DOLLARS",
        default: "5",
        help: "Toolset agent: how much one session may cost, in dollars.",
        example: "2.50",
    },
    Setting {
        flag: "cos-vault-timeout-ms",
        variable: "COS_VAULT_TIMEOUT_MS",
        value: "NUMBER",
        default: "180000",
        help: "Toolset agent: how long one session may take, in milliseconds.",
        example: "180000",
    },
    Setting {
        flag: "cos-vault-query-model",
        variable: "COS_VAULT_QUERY_MODEL",
        value: "NAME",
        default: "",
        help: "Toolset agent: the model that answers questions. Without it COS_VAULT_MODEL if that is set, otherwise claude-haiku-4-5.",
        example: "claude-haiku-4-5",
    },
    Setting {
        flag: "cos-vault-query-max-turns",
        variable: "COS_VAULT_QUERY_MAX_TURNS",
        value: "NUMBER",
        default: "20",
        help: "Toolset agent: how many turns an answer may take; not more than COS_VAULT_MAX_TURNS without it.",
        example: "20",
    },
    Setting {
        flag: "cos-vault-query-timeout-ms",
        variable: "COS_VAULT_QUERY_TIMEOUT_MS",
        value: "NUMBER",
        default: "120000",
        help: "Toolset agent: how long an answer may take, in milliseconds; not more than COS_VAULT_TIMEOUT_MS without it.",
        example: "120000",
    },
    Setting {
        flag: "cos-vault-models",
        variable: "COS_VAULT_MODELS",
        value: "LIST",
        default: "",
        help: "Toolset agent: further models that a call may ask for, separated by commas.",
        example: "claude-opus-4-8",
    },
    Setting {
        flag: "cos-vault-daily-budget-usd",
        variable: "COS_VAULT_DAILY_BUDGET_USD",
        value: "DOLLARS",
        default: "",
        help: "Toolset agent: how much all sessions of 24 hours may cost, in dollars.",
        example: "10",
    },
    Setting {
        flag: "cos-vault-attach-dirs",
        variable: "COS_VAULT_ATTACH_DIRS",
        value: "FOLDERS",
        default: "",
        help: "Toolset agent: folders outside the vault from which ingest may be given files, separated by colons.",
        example: "/srv/scans:/srv/mail",
    },
    Setting {
        flag: "cos-vault-concurrency",
        variable: "COS_VAULT_CONCURRENCY",
        value: "NUMBER",
        default: "2",
        help: "Toolset agent: how many sessions may run at the same time.",
        example: "2",
    },
    Setting {
        flag: "allowed-origins",
        variable: "ALLOWED_ORIGINS",
        value: "LIST",
        default: "",
        help: "Further browser origins that may call, separated by commas, or *.",
        example: "https://app.example.com",
    },
    Setting {
        flag: "trusted-proxies",
        variable: "TRUSTED_PROXIES",
        value: "LIST",
        default: "",
        help: "Addresses of proxies whose X-Forwarded-For is believed, separated by commas.",
        example: "127.0.0.1",
    },
    Setting {
        flag: "workers",
        variable: "WORKERS",
        value: "NUMBER",
        default: "8 per processor core",
        help: "Requests handled at the same time.",
        example: "16",
    },
    Setting {
        flag: "max-connections",
        variable: "MAX_CONNECTIONS",
        value: "NUMBER",
        default: "512",
        help: "Connections open at the same time.",
        example: "512",
    },
    Setting {
        flag: "log-level",
        variable: "LOG_LEVEL",
        value: "LEVEL",
        default: "info",
        help: "error, warn, info, debug or trace.",
        example: "debug",
    },
];

/// The setting that was probably meant by a name, a variable's or a flag's without its dashes, that is not one: a mistake in
/// typing for every four letters, two at most.
pub fn meant_by(name: &str) -> Option<&'static Setting> {
    let name = name.to_ascii_uppercase().replace('-', "_");
    if name == "VAULT_DIR" {
        return SETTINGS.iter().find(|setting| setting.variable == "VAULT_PATH");
    }
    let most = (name.len() / 4).min(2);
    let distances = SETTINGS.iter().map(|setting| (strsim::osa_distance(&name, setting.variable), setting));
    distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance).map(|(_, setting)| setting)
}

/// The setting of a flag.
pub fn of_flag(flag: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| !flag.is_empty() && setting.flag == flag)
}
