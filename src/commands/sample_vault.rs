//! The sample vault, built into the program. The files themselves are `fixtures/vault`; a test compares the two.

use crate::disk::{self, Mode};
use std::io;
use std::path::Path;

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vault/", $path)))),*]
    };
}

/// Every file of the sample vault: its path below the root, and its bytes. Combining marks are written as escapes, so
/// that no editor can turn a decomposed name into a composed one.
pub static FILES: &[(&str, &[u8])] = files![
    ".obsidian/app.json",
    ".obsidian/daily-notes.json",
    ".obsidian/workspace.json",
    ".trash/old draft.md",
    "Attachments/boiler-sketch.png",
    "Attachments/cello-a.wav",
    "Attachments/meter-readings.csv",
    "Attachments/warranty.pdf",
    "Daily/2026-02-01.md",
    "Daily/2026-02-02.md",
    "Daily/2026-02-03.md",
    "Daily/2026-02-05.md",
    "Daily/2026-02-06.md",
    "Daily/2026-02-08.md",
    "Daily/2026-02-09.md",
    "Daily/2026-02-11.md",
    "Daily/2026-02-14.md",
    "Daily/2026-02-15.md",
    "Hmm...md",
    "Homelab/100% uptime?.md",
    "Homelab/Backup Plan.md",
    "Homelab/C# & Rust notes.md",
    "Homelab/MQTT Setup.md",
    "Homelab/Raspberry Pi Fleet.md",
    "Homelab/Router Notes.md",
    "Inbox/Broken frontmatter.md",
    "Inbox/Call back.md",
    "Inbox/Never closed.md",
    "Inbox/Pasted log.md",
    "Inbox/Quick thoughts.md",
    "Inbox/Shopping list.md",
    "Inbox/Untitled.md",
    "Map of Content.md",
    "People/Henrike Vogt.md",
    "People/Mormor Ingrid.md",
    "People/Tomek Wilk.md",
    "People/Åsa 🎻 Bergström.md",
    "Projects/Archive/Balcony Solar.md",
    "Projects/Archive/Old Thermostat.md",
    "Projects/Boiler Firmware.md",
    "Projects/Cello Recital.md",
    "Projects/Freelance Admin.md",
    "Projects/Heating Logbook.md",
    "Projects/Heating System.md",
    "Projects/Kitchen Shelf.canvas",
    "Projects/Kitchen Shelf.md",
    "Projects/Projects.base",
    "Reading/Don Quijote.md",
    "Reading/Kalevala.md",
    "Reading/Mara's \"to read\" list.md",
    "Reading/Reading Notes.md",
    "Recipes/Cold Brew.md",
    "Recipes/Cre\u{300}me bru\u{302}le\u{301}e.md",
    "Recipes/Köttbullar.md",
    "Recipes/Linsensuppe.md",
    "Recipes/Rågbröd.md",
    "Templates/Daily Note.md",
    "Templates/Project.md",
    "Templates/Recipe.md",
    "Welcome.md",
];

/// Writes the sample vault into a new folder.
///
/// # Errors
/// What the disk says.
pub fn write(folder: &Path) -> io::Result<()> {
    disk::create_folder(folder)?;
    for (path, bytes) in FILES {
        let mut on_disk = folder.to_path_buf();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            on_disk.push(name);
            if names.peek().is_some() {
                disk::create_folder(&on_disk)?;
            }
        }
        disk::replace::<io::Error>(&on_disk, bytes, Mode::New, |_| Ok(()))?;
    }
    Ok(())
}
