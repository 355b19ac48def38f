//! The command line that confines a session, and its environment. The table of attacks in the
//! README, which is tested against the real program, says what each part prevents.

use super::copy::{ALIASES, INSTRUCTIONS};
use super::{Options, Work};
use crate::wiki::TREES;
use std::path::Path;

/// All tools that any session may have; one that reports another is ended.
pub(super) const TOOLS: [&str; 7] =
    ["Edit", "Glob", "Grep", "Read", "Skill", "StructuredOutput", "Write"];

/// Hidden files, which no session may read or change, wherever they lie in the vault. A rule for
/// `Edit` covers `Write` too.
const HIDDEN: [&str; 2] = ["Read(.*)", "Edit(.*)"];

/// Disables hooks and key helpers, which are shell commands, and the program's bundled skills and
/// plugins, some of which start agents, or servers whose tools run without permission.
const SETTINGS: &str = r#"{"disableAllHooks":true,"apiKeyHelper":"","disableBundledSkills":true,"enabledPlugins":{"cc-plugin-plugin-authoring@builtin":false,"cc-plugin-agents-md@builtin":false,"cc-plugin-privacy@builtin":false}}"#;

/// Tools that are denied although none is offered: a session must never start another session, run
/// a program or reach the network.
const NEVER: [&str; 7] =
    ["mcp__*", "WebFetch", "WebSearch", "Bash", "Task", "NotebookEdit", "KillShell"];

/// The arguments; `folder` is the session's folder.
pub(super) fn arguments(options: &Options, work: Work, schema: &str, folder: &Path) -> Vec<String> {
    let plugin = folder.join("plugin").display().to_string();
    let writes = work.writes();
    let mut list: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| list.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-p", "--output-format", "stream-json", "--verbose"]);
    add(&["--model", &options.model, "--max-turns", &options.max_turns.to_string()]);
    add(&["--json-schema", schema]);
    // No settings but these: not the vault's, not the user's.
    add(&["--restricted", "--setting-sources", "", "--settings", SETTINGS]);
    // No MCP servers: none is given, and none is discovered.
    add(&["--strict-mcp-config", "--mcp-config", r#"{"mcpServers":{}}"#]);
    add(&[
        "--no-session-persistence",
        "--permission-mode",
        "dontAsk",
        "--permission-prompts",
        "none",
    ]);
    add(&[
        "--plugin-dir",
        &plugin,
        "--system-prompt-file",
        &folder.join("system.md").display().to_string(),
    ]);
    add(&[
        "--tools",
        if writes { "Skill,Read,Glob,Grep,Write,Edit" } else { "Skill,Read,Glob,Grep" },
    ]);
    // A skill's other files can be read only if a permission rule can express their folder's path.
    let nameable = !plugin.contains(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c));
    if nameable {
        add(&["--add-dir", &plugin]);
    }
    add(&["--allowedTools", "Skill", "Read(./**)"]);
    if nameable {
        add(&[&format!("Read(/{plugin}/**)")]);
    }
    if writes {
        TREES.iter().for_each(|tree| add(&[&format!("Edit(./{tree}/**)")]));
        add(&[&format!("Edit(./{ALIASES})")]);
    }
    add(&["--disallowedTools"]);
    add(&NEVER);
    add(&HIDDEN);
    INSTRUCTIONS.iter().for_each(|name| add(&[&format!("Edit({name})")]));
    if nameable {
        add(&[&format!("Edit(/{plugin}/**)")]);
    }
    if !writes {
        add(&["Write", "Edit"]);
    }
    list
}

/// The environment: of the server's own only `PATH`, `LANG` and the key.
pub(super) fn environment(
    options: &Options,
    key: &str,
    home: &Path,
    temporary: &Path,
) -> Vec<(String, String)> {
    let mut list = vec![
        (
            "PATH".to_owned(),
            std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into()),
        ),
        ("LANG".into(), std::env::var("LANG").unwrap_or_else(|_| "C.UTF-8".into())),
        ("HOME".into(), home.display().to_string()),
        ("TMPDIR".into(), temporary.display().to_string()),
        ("ANTHROPIC_API_KEY".into(), key.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into()),
        ("DISABLE_AUTOUPDATER".into(), "1".into()),
        ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS".into(), "1".into()),
        ("CLAUDE_CODE_DISABLE_FILE_MENTIONS".into(), "1".into()),
        ("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS".into(), "1".into()),
        // The program runs git, which must not take a vault's folder for a bare repository (see
        // `git::process`).
        ("GIT_CONFIG_COUNT".into(), "1".into()),
        ("GIT_CONFIG_KEY_0".into(), "safe.bareRepository".into()),
        ("GIT_CONFIG_VALUE_0".into(), "explicit".into()),
    ];
    list.extend(options.base_url.iter().map(|url| ("ANTHROPIC_BASE_URL".to_owned(), url.clone())));
    list
}
