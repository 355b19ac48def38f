//! The vault's skills, as a session may have them.
//!
//! A vault can be hostile: it is synchronised from elsewhere, and a folder `.claude` may hold
//! hooks, servers, settings and skills that give themselves tools. So a session does not get that
//! folder. It gets a generated plugin, in which a skill has its name, its description and its text,
//! and nothing that Claude Code would execute.

use crate::disk;
use crate::limits;
use crate::markdown::frontmatter;
use crate::slice::Part;
use std::fs;
use std::io;
use std::path::Path;

/// Bytes of the vault's CLAUDE.md that a session gets; a longer one is left out.
const INSTRUCTIONS_BYTES: u64 = 64 * 1024;
/// Skills of a vault.
const SKILLS: usize = 32;
/// Bytes of all skills of a vault.
const SKILLS_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of one file of a skill.
const SKILL_BYTES: u64 = 256 * 1024;
/// Files of one skill.
const SKILL_FILES: usize = 64;

/// A skill of the vault.
#[derive(Debug)]
pub(super) struct Skill {
    /// Its folder's name, by which it is invoked.
    pub(super) name: String,
    description: String,
    text: String,
    /// Other text files in its folder: relative paths and bytes.
    files: Vec<(String, Vec<u8>)>,
}

/// The usable skills of a vault: the needed one, then the others by name.
pub(super) fn of(vault: &Path, needed: &str) -> Vec<Skill> {
    // No symbolic links: one could lead out of the vault.
    let folder = vault.join(".claude").join("skills");
    let is_plain = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !is_plain(&vault.join(".claude")) || !is_plain(&folder) {
        return Vec::new();
    }
    let mut names: Vec<String> = entries(&folder)
        .into_iter()
        .filter(|name| is_name(name) && is_plain(&folder.join(name)))
        .collect();
    // The needed one first, so that the limit keeps it.
    names.sort_by_key(|name| name != needed);
    if names.len() > SKILLS {
        log::warn!("agent: the vault has {} skills; {} are used", names.len(), SKILLS);
        names.truncate(SKILLS);
    }
    let mut budget = SKILLS_BYTES;
    names
        .into_iter()
        .filter_map(|name| Skill::read(&folder.join(&name), name, &mut budget))
        .collect()
}

/// The text of the vault's CLAUDE.md, if it has one.
pub(super) fn instructions(vault: &Path) -> Option<String> {
    let bytes = disk::read_plain(&vault.join("CLAUDE.md"), INSTRUCTIONS_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// Writes skills as a plugin into a folder that exists.
///
/// # Errors
/// What the disk says.
pub(super) fn write_plugin(skills: &[Skill], folder: &Path) -> io::Result<()> {
    let about = serde_json::json!({ "name": "vault", "version": "1.0.0", "description": "The skills of this vault" });
    put(&folder.join(".claude-plugin/plugin.json"), about.to_string().as_bytes())?;
    for skill in skills {
        let own = folder.join("skills").join(&skill.name);
        put(&own.join("SKILL.md"), skill.reduced().as_bytes())?;
        for (name, bytes) in &skill.files {
            put(&own.join(name), bytes)?;
        }
    }
    Ok(())
}

/// Writes a new private file, and creates its folder where it is missing.
pub(super) fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    file.parent().map_or(Ok(()), disk::create_private_folder)?;
    disk::write_new(file, bytes)
}

impl Skill {
    fn read(folder: &Path, name: String, budget: &mut usize) -> Option<Skill> {
        let bytes = disk::read_plain(&folder.join("SKILL.md"), SKILL_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let yaml: Option<serde_yaml::Value> =
            frontmatter::block(&text).and_then(|yaml| frontmatter::values(yaml).ok());
        let described = yaml
            .as_ref()
            .and_then(|yaml| yaml.get("description"))
            .and_then(serde_yaml::Value::as_str);
        let description = described
            .unwrap_or(&name)
            .chars()
            .filter(|c| !c.is_control())
            .take(limits::AGENT_DESCRIPTION_CHARS)
            .collect();
        let body = text.part(frontmatter::end(&text)..);
        let mut files = Vec::new();
        *budget = budget.checked_sub(text.len())?;
        collect(folder, "", 3, budget, &mut files);
        Some(Skill { description, text: without_commands(body), files, name })
    }

    fn reduced(&self) -> String {
        // A JSON string is a YAML string.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        format!(
            "---\nname: {}\ndescription: {}\n---\n{}",
            quoted(&self.name),
            quoted(&self.description),
            self.text
        )
    }
}

/// A skill's text may have commands (an exclamation mark before code), which Claude Code runs and
/// replaces by their output. They would be refused, and the skill with them; separated by a space
/// they are plain text.
fn without_commands(text: &str) -> String {
    text.replace("!`", "! `").replace("```!", "``` !")
}

/// Whether a folder's name can be that of a skill.
fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Collects the text files in a skill's folder, except `SKILL.md`.
fn collect(
    folder: &Path,
    below: &str,
    depth: usize,
    budget: &mut usize,
    into: &mut Vec<(String, Vec<u8>)>,
) {
    for name in entries(folder) {
        if into.len() >= SKILL_FILES {
            return;
        }
        let on_disk = folder.join(&name);
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if depth > 0 && on_disk.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            collect(&on_disk, &path, depth - 1, budget, into);
        } else if path != "SKILL.md"
            && (name.ends_with(".md") || name.ends_with(".txt"))
            && let Ok(bytes) = disk::read_plain(&on_disk, SKILL_BYTES)
        {
            let Some(left) = budget.checked_sub(bytes.len()) else { return };
            *budget = left;
            into.push((path, bytes));
        }
    }
}

/// The names in a folder that are not hidden, sorted.
fn entries(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = found
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_keeps_its_words_and_nothing_that_would_be_acted_upon() {
        let vault = std::env::temp_dir().join(format!("vsm-skills-{}", crate::secret::new_id()));
        let skill = vault.join(".claude/skills/second-brain-ingest");
        fs::create_dir_all(skill.join("references")).unwrap();
        let text = "---\nname: other\ndescription: \"Files: \\\"things\\\"\"\nallowed-tools: \
                    Bash, Read\nhooks: {}\nmodel: x\n---\nDo it !`id` \n```!\nid\n```\n";
        fs::write(skill.join("SKILL.md"), text).unwrap();
        fs::write(skill.join("references/style.md"), "style").unwrap();
        fs::write(skill.join("run.sh"), "id").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", skill.join("references/more.md")).unwrap();
        fs::create_dir_all(vault.join(".claude/skills/linked")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", vault.join(".claude/skills/linked/SKILL.md"))
            .unwrap();
        let skills = of(&vault, "second-brain-ingest");
        assert_eq!(
            skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(),
            ["second-brain-ingest"]
        );
        let reduced = skills[0].reduced();
        assert_eq!(
            reduced,
            "---\nname: \"second-brain-ingest\"\ndescription: \"Files: \\\"things\\\"\"\n---\nDo \
             it ! `id` \n``` !\nid\n```\n"
        );
        assert_eq!(skills[0].files, [("references/style.md".to_owned(), b"style".to_vec())]);
        write_plugin(&skills, &vault).unwrap();
        assert_eq!(
            fs::read_to_string(vault.join("skills/second-brain-ingest/references/style.md"))
                .unwrap(),
            "style"
        );
        fs::remove_dir_all(&vault).unwrap();
    }
}
