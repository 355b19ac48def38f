//! Toolset `agent`: what a session cannot do, and that it ends.

use crate::agent::{INIT, KEY, RESULT, Scene, WRITES, prepare};
use crate::support::eventually;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A program that does not want to end, with children of its own, is ended with all of them.
#[test]
fn a_session_that_takes_too_long_ends_with_its_whole_group() {
    let scene =
        Scene::with(&format!("trap '' TERM\n{INIT}sleep 98761 &\nsleep 98761\nsleep 98761"));
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "1000")]);
    let started = Instant::now();
    assert_eq!(server.fail("query", json!({ "question": "x" }))["code"], "AGENT_TIMEOUT");
    assert!(
        !crate::support::thorough() || started.elapsed() < Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(scene.running("sleep 98761"), 0);
}

#[test]
fn what_a_session_leaves_behind_ends_with_it() {
    let scene = Scene::with(&format!("{INIT}sleep 98762 > /dev/null 2>&1 &\n{RESULT}"));
    let server = scene.serve(&[]);
    server.call("query", json!({ "question": "x" }));
    eventually("nothing is left", || scene.running("sleep 98762") == 0);
}

#[test]
fn sessions_end_with_the_server_however_that_ends() {
    let scene = Scene::with(&format!("{INIT}sleep 98763 &\nsleep 98763"));
    for kill in [true, false] {
        let server = scene.serve(&[]);
        server.call("ingest", json!({ "content": "x", "background": true }));
        eventually("the session runs", || scene.running("sleep 98763") == 2);
        let started = Instant::now();
        if kill {
            server.kill();
        } else {
            assert_eq!(server.terminate(), 0);
        }
        eventually("all of it ends", || scene.running("sleep 98763") == 0);
        assert!(!crate::support::thorough() || started.elapsed() < Duration::from_secs(6));
    }
}

/// What is printed without end is neither kept nor waited for.
#[test]
fn a_flood_of_output_is_cut() {
    let scene = Scene::with(&format!(
        "{INIT}yes '{{\"type\":\"x\",\"text\":\"\
         xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}}'"
    ));
    let server = scene.serve(&[("COS_VAULT_TIMEOUT_MS", "60000")]);
    let error = server.fail("query", json!({ "question": "x" }));
    assert!(error["message"].as_str().unwrap().contains("printed more"), "{error}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(most < 60_000, "{most} kB");
}

/// The child has what it needs, and nothing that is the server's.
#[test]
fn the_environment_is_a_list_of_what_is_allowed() {
    let scene = Scene::with(&format!(
        "env > \"$HOME/env\"\nprintf '%s\\n' \"$@\" > \"$HOME/argv\"\n{INIT}{RESULT}"
    ));
    let server = scene.serve(&[
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
        ("GIT_AUTHOR_NAME", "x"),
        ("NODE_OPTIONS", "--require=/tmp/x.js"),
    ]);
    server.call("query", json!({ "question": "x" }));
    let read = |name: &str| std::fs::read_to_string(scene.home().join(name)).unwrap();
    let mut names: Vec<String> = read("env")
        .lines()
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.to_owned()))
        .collect();
    // What the shell itself adds.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    names.sort();
    let allowed = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS",
        "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "HOME",
        "LANG",
        "PATH",
        "TMPDIR",
    ];
    assert_eq!(names, allowed);
    assert!(!read("argv").contains(KEY));
}

/// What `tests/agent/real.py` tries with the real program, by the words that were seen to hold
/// there: none of them may go missing.
#[test]
fn every_part_of_the_command_line_that_confines_a_session_is_given() {
    let scene = Scene::with(&format!(
        "printf '%s\\n' \"$@\" > \"$HOME/argv\"\necho \"$TMPDIR\" > \"$HOME/tmp\"\n{INIT}{RESULT}"
    ));
    let server = scene.serve(&[]);
    for tool in ["query", "ingest"] {
        server.call(
            tool,
            json!({ "question": "x", "content": "x" })
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| (*name == "content") == (tool == "ingest"))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        );
        let argv = std::fs::read_to_string(scene.home().join("argv")).unwrap();
        let words: Vec<&str> = argv.lines().collect();
        let after = |flag: &str| {
            words
                .iter()
                .position(|word| *word == flag)
                .map(|at| words[at + 1])
                .unwrap_or_else(|| panic!("{tool} lacks {flag}"))
        };
        assert!(
            words.contains(&"--restricted") && words.contains(&"--strict-mcp-config"),
            "{argv}"
        );
        assert_eq!(
            (after("--setting-sources"), after("--permission-mode"), after("--mcp-config")),
            ("", "dontAsk", "{\"mcpServers\":{}}")
        );
        let settings: Value = serde_json::from_str(after("--settings")).unwrap();
        assert!(
            settings["disableAllHooks"] == true
                && settings["disableBundledSkills"] == true
                && settings["apiKeyHelper"] == "",
            "{settings}"
        );
        assert!(settings["enabledPlugins"].as_object().is_some_and(|plugins| plugins.len() == 3 && plugins.values().all(|on| on == false)));
        let writes = if tool == "ingest" {
            "Skill,Read,Glob,Grep,Write,Edit"
        } else {
            "Skill,Read,Glob,Grep"
        };
        assert_eq!(after("--tools"), writes);
        let (allowed, forbidden) = (
            words.iter().position(|word| *word == "--allowedTools").unwrap(),
            words.iter().position(|word| *word == "--disallowedTools").unwrap(),
        );
        let (allowed, forbidden) = words[allowed..].split_at(forbidden - allowed);
        for word in [
            "mcp__*",
            "WebFetch",
            "WebSearch",
            "Bash",
            "Task",
            "Read(.*)",
            "Edit(.*)",
            "Edit(CLAUDE.md)",
            "Edit(CLAUDE.local.md)",
            "Edit(AGENTS.md)",
        ] {
            assert!(forbidden.contains(&word) && !allowed.contains(&word), "{tool}: {word}");
        }
        assert!(
            !allowed.iter().any(|word| ["Read", "Edit", "Write", "Glob", "Grep"].contains(word)),
            "a bare name allows all: {allowed:?}"
        );
    }
    let temporary = std::fs::read_to_string(scene.home().join("tmp")).unwrap();
    assert!(temporary.contains("/agent/vault-sync-mcp-session-"), "{temporary}");
}

/// A session's folder that a crash left is removed by the next start; one that is in use is not.
#[test]
fn leftovers_of_a_crash_go_with_the_next_start() {
    let scene = Scene::with(&format!(
        "if [ -e \"$HOME/quick\" ]; then {INIT}{RESULT}exit; fi\n{INIT}sleep 98767"
    ));
    let folders = || {
        let found = std::fs::read_dir(scene.folder.path().join("state/agent"))
            .into_iter()
            .flatten()
            .flatten();
        found.filter(|entry| entry.file_name().to_string_lossy().contains("session")).count()
    };
    let server = scene.serve(&[]);
    server.call("ingest", json!({ "content": "x", "background": true }));
    eventually("the session runs", || scene.running("sleep 98767") == 1);
    server.kill();
    eventually("the session ends", || scene.running("sleep 98767") == 0);
    assert_eq!(folders(), 1);
    let server = scene.serve(&[]);
    assert_eq!(folders(), 0, "the old one is gone");
    server.call("ingest", json!({ "content": "x", "background": true }));
    eventually("the next one runs", || scene.running("sleep 98767") == 1);
    assert_eq!(folders(), 1);
    std::fs::write(scene.home().join("quick"), "").unwrap();
    server.call("query", json!({ "question": "x" }));
    assert_eq!(folders(), 1, "the one in use is not");
}

#[test]
fn supervise_is_for_the_server_itself() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp")).arg("supervise").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("for the server itself"));
}

/// A link in the vault is a page of another name, and what it leads to may be a file that no
/// session changes.
#[test]
fn links_in_the_vault_lead_a_session_nowhere() {
    let scene = Scene::with(WRITES);
    let vault = scene.folder.vault();
    for (link, to) in [
        ("work/rules.md", "../CLAUDE.md"),
        ("work/diary.md", "../Diary.md"),
        ("work/other", "../life"),
        ("shared/same.md", "../aliases.md"),
    ] {
        std::os::unix::fs::symlink(to, vault.join(link)).unwrap();
    }
    let before = ["CLAUDE.md", "Diary.md", "aliases.md"].map(|name| scene.folder.read(name));
    let content = "write work/rules.md gone\nwrite work/diary.md gone\nwrite work/other/new.md \
                   gone\nwrite shared/same.md gone\nwrite work/wiki/entities/A.md # A\n";
    let filed = scene.serve(&[]).call("ingest", json!({ "content": content }));
    assert_eq!(
        ["CLAUDE.md", "Diary.md", "aliases.md"].map(|name| scene.folder.read(name)),
        before,
        "{filed}"
    );
    assert!(!vault.join("life/new.md").exists());
    assert_eq!(filed["written"], json!([{ "path": "work/wiki/entities/A.md", "created": true }]));
    assert!(filed["left_out"].to_string().contains("work/rules.md: it is"), "{filed}");
}

/// What no rule of the program is asked about: a program that reads and writes where it likes.
#[test]
fn the_kernel_keeps_a_session_from_the_vault_and_from_what_is_next_to_it() {
    let script = "for file in VAULT/Diary.md VAULT/.obsidian/app.json OUTSIDE /etc/passwd \
                  /proc/PID/environ; do\n  cat $file > /dev/null 2>&1 && echo \"$file\" >> \
                  \"$HOME/reached\"\ndone\nfor file in VAULT/Diary.md VAULT/life/x.md OUTSIDE \
                  /tmp/vault-sync-mcp-was-here ../x Diary.md raw/assets/x.md; do\n  ( echo x > \
                  $file ) 2>/dev/null && echo \"$file\" >> \"$HOME/reached\"\ndone\necho x > \
                  work/x.md && cat aliases.md > /dev/null && [ ! -e Diary.md ] && echo done >> \"$HOME/reached\"\n";
    let scene = Scene::with("");
    let outside = scene.folder.path().join("outside.md");
    std::fs::write(&outside, "secret").unwrap();
    let program = script
        .replace("VAULT", scene.folder.vault().to_str().unwrap())
        .replace("OUTSIDE", outside.to_str().unwrap())
        .replace("PID", &std::process::id().to_string());
    prepare(&scene.folder, &format!("{program}{INIT}{RESULT}"));
    if !vault_sync_mcp::agent::is_landlock_supported() {
        crate::support::skipped("this kernel has no Landlock");
        return;
    }
    scene.serve(&[]).call("ingest", json!({ "content": "x" }));
    assert_eq!(std::fs::read_to_string(scene.home().join("reached")).unwrap(), "done\n");
    assert!(!Path::new("/tmp/vault-sync-mcp-was-here").exists());
}

#[test]
fn a_session_ends_though_its_supervisor_is_stopped() {
    let scene = Scene::with(&format!("{INIT}sleep 98769"));
    let server = scene.serve(&[]);
    let job =
        server.call("ingest", json!({ "content": "x", "background": true }))["job_id"].clone();
    eventually("it runs", || scene.running("sleep 98769") == 1);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().flatten();
    let children: String = tasks
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default())
        .collect();
    let Some(supervisor) = children.split_whitespace().last() else {
        crate::support::skipped("/proc does not list children");
        return;
    };
    assert!(Command::new("kill").args(["-STOP", supervisor]).status().unwrap().success());
    assert_eq!(server.call("ingest_cancel", json!({ "job_id": job }))["status"], "cancelled");
    assert_eq!(scene.running("sleep 98769"), 0);
}

#[test]
fn files_of_the_server_are_not_taken_as_attachments() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    let above = scene.folder.path().to_str().unwrap().to_owned();
    std::fs::write(scene.folder.path().join("good.txt"), "good").unwrap();
    let server = scene.serve(&[("COS_VAULT_ATTACH_DIRS", &above)]);
    let good = format!("{above}/good.txt");
    let error = server.fail(
        "ingest",
        json!({ "content": "x", "files": [good, format!("{above}/state/state.json")] }),
    );
    assert!(
        error["code"] == "PATH_NOT_ALLOWED"
            && error["message"].as_str().unwrap().contains("belongs to the server"),
        "{error}"
    );
    assert!(!scene.folder.vault().join("raw/assets/good.txt").exists());
    server.call("ingest", json!({ "content": "x", "files": [good] }));
    assert_eq!(scene.folder.read("raw/assets/good.txt"), b"good");
    std::fs::write(&good, "other").unwrap();
    server.call("ingest", json!({ "content": "x", "files": [good] }));
    assert_eq!(
        (scene.folder.read("raw/assets/good.txt"), scene.folder.read("raw/assets/good 2.txt")),
        (b"good".to_vec(), b"other".to_vec())
    );
}

/// As people have it: npm and the program's own installer link to it, and the local installation
/// starts it by a script.
#[test]
fn a_program_behind_a_link_or_a_script_is_started() {
    let scene = Scene::with(&format!("{INIT}{RESULT}"));
    let home = scene.folder.path().join("me");
    let (package, local, bin) = (
        home.join("lib/node_modules/@anthropic-ai/claude-code"),
        home.join(".claude/local"),
        home.join("bin"),
    );
    for folder in [&package, &local, &bin] {
        std::fs::create_dir_all(folder).unwrap();
    }
    // The program of the package reads another file of it.
    let inner = package.join("inner");
    std::fs::copy(&scene.program, &inner).unwrap();
    let script = |file: &Path, text: String| {
        std::fs::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    };
    script(&package.join("claude"), format!(". {}", inner.display()));
    std::os::unix::fs::symlink(
        "../lib/node_modules/@anthropic-ai/claude-code/claude",
        bin.join("npm"),
    )
    .unwrap();
    std::os::unix::fs::symlink(&scene.program, bin.join("native")).unwrap();
    script(&local.join("claude"), format!("exec \"{}\" \"$@\"", package.join("claude").display()));
    for command in [bin.join("npm"), bin.join("native"), local.join("claude")] {
        let server = scene.serve(&[("AGENT_COMMAND", command.to_str().unwrap())]);
        assert_eq!(server.call("query", json!({ "question": "x" }))["answer"], "yes");
    }
    if !vault_sync_mcp::agent::is_landlock_supported() {
        crate::support::skipped("this kernel has no Landlock");
        return;
    }
    let wrapper = local.join("variable");
    script(&wrapper, format!("there={}\nexec \"$there\" \"$@\"", package.join("claude").display()));
    let output = Command::new(env!("CARGO_BIN_EXE_vault-sync-mcp"))
        .args(["stdio", "--toolsets", "agent", "--agent-command", wrapper.to_str().unwrap()])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("VAULT_PATH", scene.folder.vault())
        .env("STATE_DIR", "none")
        .env("ANTHROPIC_API_KEY", KEY)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let file = package.join("claude").display().to_string();
    assert!(said.contains("do not let it read") && said.contains(&file), "{said}");
}
