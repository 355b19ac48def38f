//! A vault that is a git repository, with a bare remote.

use super::{Folder, Server};
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Repository {
    pub folder: Folder,
}

/// Runs git in a folder; what it printed.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Person",
            "-c",
            "user.email=person@example.com",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Repository {
    /// A repository of these files, committed and pushed.
    pub fn with(files: &[(&str, &str)]) -> Repository {
        let bytes: Vec<(&str, &[u8])> =
            files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        Repository::of(Folder::with(&bytes))
    }

    /// Makes a repository of a vault.
    pub fn of(folder: Folder) -> Repository {
        let repository = Repository { folder };
        git(repository.folder.path(), &["init", "-q", "--bare", "-b", "main", "remote.git"]);
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["config", "user.name", "Server"]);
        repository.git(&["config", "user.email", "server@example.com"]);
        repository.git(&["remote", "add", "origin", repository.remote().to_str().unwrap()]);
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        repository.git(&["push", "-q", "-u", "origin", "main"]);
        repository
    }

    pub fn remote(&self) -> PathBuf {
        self.folder.path().join("remote.git")
    }

    /// git in the vault.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.folder.vault(), arguments)
    }

    /// git in the remote.
    #[track_caller]
    pub fn at_remote(&self, arguments: &[&str]) -> String {
        git(&self.remote(), arguments)
    }

    pub fn write(&self, path: &str, text: &str) {
        let on_disk = self.folder.vault().join(path);
        std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
        std::fs::write(on_disk, text).unwrap();
    }

    /// Another person's clone.
    pub fn clone(&self, name: &str) -> PathBuf {
        git(self.folder.path(), &["clone", "-q", "remote.git", name]);
        self.folder.path().join(name)
    }

    /// Another person pushes a file.
    pub fn pushed_by_another(&self, clone: &Path, path: &str, text: &str) {
        git(clone, &["pull", "-q", "--rebase"]);
        std::fs::create_dir_all(clone.join(path).parent().unwrap()).unwrap();
        std::fs::write(clone.join(path), text).unwrap();
        git(clone, &["add", "-A"]);
        git(clone, &["commit", "-q", "-m", &format!("another: {path}")]);
        git(clone, &["push", "-q"]);
    }

    pub fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, settings: &[(&str, &str)]) -> Server {
        let mut all = vec![("TOOLSETS", "git")];
        all.extend(settings);
        Server::with(&self.folder.vault(), &all)
    }
}
