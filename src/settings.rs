//! THE table of settings: flag, variable, default, what it is. `--help`, the parser, the error messages and the check of
//! the README all read it.

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The flag, without the dashes.
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
pub static SETTINGS: [Setting; 22] = [
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
        help: "Machine clients: client_id:sha256_of_secret, separated by commas. See generate-token.",
        example: "backup:9f86d081...",
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
        help: "Folder for logins that survive a restart. Without one they are kept in memory only.",
        example: "/var/lib/vault-sync-mcp",
    },
    Setting {
        flag: "toolsets",
        variable: "TOOLSETS",
        value: "LIST",
        default: "vault",
        help: "Groups of tools to offer, separated by commas, or all: vault, context, git, accomplishments.",
        example: "vault,context",
    },
    Setting {
        flag: "read-only",
        variable: "READ_ONLY",
        value: "",
        default: "false",
        help: "Offer no tool that writes, to anybody.",
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

/// The setting of a flag.
pub fn of_flag(flag: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.flag == flag)
}
