//! The sample vault, built into the program. The files themselves are `fixtures/vault`; a test
//! compares the two.

use crate::disk::{self, Mode};
use std::io;
use std::path::Path;

macro_rules! files {
    ($($folder:literal: $($name:literal)+;)+) => {
        &[$($((concat!($folder, $name), include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vault/", $folder, $name)))),+),+]
    };
}

/// Every file of the sample vault: its path below the root, and its bytes. Combining marks are
/// written as escapes, so that no editor can turn a decomposed name into a composed one.
pub static FILES: &[(&str, &[u8])] = files! {
    ".obsidian/": "app.json" "daily-notes.json" "workspace.json";
    ".trash/": "old draft.md";
    "Attachments/": "boiler-sketch.png" "cello-a.wav" "meter-readings.csv" "warranty.pdf";
    "Daily/": "2026-02-01.md" "2026-02-02.md" "2026-02-03.md" "2026-02-05.md" "2026-02-06.md" "2026-02-08.md" "2026-02-09.md"
        "2026-02-11.md" "2026-02-14.md" "2026-02-15.md";
    "": "Hmm...md" "Map of Content.md" "Welcome.md";
    "Homelab/": "100% uptime?.md" "Backup Plan.md" "C# & Rust notes.md" "MQTT Setup.md" "Raspberry Pi Fleet.md" "Router Notes.md";
    "Inbox/": "Broken frontmatter.md" "Call back.md" "Never closed.md" "Pasted log.md" "Quick thoughts.md" "Shopping list.md"
        "Untitled.md";
    "People/": "Henrike Vogt.md" "Mormor Ingrid.md" "Tomek Wilk.md" "Åsa 🎻 Bergström.md";
    "Projects/Archive/": "Balcony Solar.md" "Old Thermostat.md";
    "Projects/": "Boiler Firmware.md" "Cello Recital.md" "Freelance Admin.md" "Heating Logbook.md" "Heating System.md"
        "Kitchen Shelf.canvas" "Kitchen Shelf.md" "Projects.base";
    "Reading/": "Don Quijote.md" "Kalevala.md" "Mara's \"to read\" list.md" "Reading Notes.md";
    "Recipes/": "Cold Brew.md" "Cre\u{300}me bru\u{302}le\u{301}e.md" "Köttbullar.md" "Linsensuppe.md" "Rågbröd.md";
    "Templates/": "Daily Note.md" "Project.md" "Recipe.md";
};

/// Writes the sample vault into a new folder.
///
/// # Errors
/// What the disk says.
pub fn write(folder: &Path) -> io::Result<()> {
    disk::create_folder(folder)?;
    for (path, bytes) in FILES {
        for (at, _) in path.match_indices('/') {
            disk::create_folder(&folder.join(path.split_at(at).0))?;
        }
        disk::replace::<io::Error>(&folder.join(path), bytes, Mode::New, |_| Ok(()))?;
    }
    Ok(())
}
