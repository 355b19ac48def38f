//! Access for the fuzz targets (`tests/fuzz`) to the private parts of this module. Compiled for
//! them only.

#![allow(clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

use super::canvas::EditedCanvas;
use super::note::Note;
use super::position::position_for;
use super::task::{self, Task};
use crate::markdown::properties;
use crate::vault::VaultPath;
use serde_json::json;

/// A property set in a note's frontmatter.
pub fn properties(text: &str) {
    for (key, new) in [
        ("status", json!("a: b #c")),
        ("done", json!(true)),
        ("depends_on", json!(["ACC-1", "x, y", 5])),
    ] {
        let Ok(edited) = properties::set(text, key, Some(&new)) else { continue };
        let before = properties::parse(text).unwrap_or_default();
        let after = properties::parse(&edited).expect("is read");
        assert!(
            before
                .iter()
                .all(|(name, value)| name.as_str() == Some(key) || after.get(name) == Some(value)),
            "{text:?} became {edited:?}"
        );
        let body =
            |text: &str| text.get(crate::markdown::frontmatter::end(text)..).map(str::to_owned);
        assert_eq!(body(text), body(&edited), "below the frontmatter");
        assert_eq!(
            properties::set(&edited, key, Some(&new)).as_ref(),
            Ok(&edited),
            "once is enough"
        );
    }
}

/// A canvas edited by every operation.
pub fn canvas(text: &str) {
    let Ok(canvas) = EditedCanvas::new(text.to_owned(), "a.canvas") else { return };
    let nodes = canvas.read().expect("it was read").nodes.len();
    let file = |path: &str| VaultPath::file(path).expect("a path");
    let (path, other) = (file("folder/a note \"of\" mine.md"), file("b.md"));
    let mut edited = canvas.clone();
    let at = position_for(&canvas.read().expect("it was read"), &[], None);
    edited.add_node("new-node-1", &path, at);
    let with_node = edited.check().is_ok();
    // Only where the id is taken, or the position too far out, it cannot be.
    let is_taken =
        canvas.read().expect("it was read").nodes.iter().any(|node| node.id == "new-node-1");
    let is_far = at.y.abs() > 1e9;
    assert!(with_node || is_taken || is_far, "{text:?} became {:?}", edited.text());
    if !with_node {
        return;
    }
    let seen = edited.read().expect("it is read");
    assert_eq!(seen.nodes.len(), nodes + 1);
    let first = seen.nodes.first().map(|node| node.id.to_string()).unwrap_or_default();
    edited.add_edge("new-edge-1", &first, "new-node-1");
    edited.check().expect("with an edge");
    edited.move_node(&first, at).expect("moved");
    edited.rename_file(&path, &other).expect("renamed");
    edited.check().expect("renamed");
    let edges = edited.read().expect("it is read").edges;
    let of_node = edges
        .iter()
        .enumerate()
        .filter(|(_, edge)| edge.from_node == "new-node-1" || edge.to_node == "new-node-1");
    edited.remove_edges(&of_node.map(|(number, _)| number).collect::<Vec<_>>());
    edited.remove_file(&other).expect("without the node");
    edited.check().expect("as before");
    let left = edited.read().expect("it is read").nodes.len();
    assert!(left <= nodes, "{text:?} became {:?}", edited.text());
    let read = |canvas: &EditedCanvas| format!("{:?}", canvas.read());
    let again = EditedCanvas::new(edited.text(), "a.canvas").expect("it is read again");
    assert_eq!(read(&again), read(&edited), "{text:?} became {:?}", edited.text());
}

/// A note edited by every operation, with one text for whatever a model gives.
pub fn note(text: &str, value: &str) {
    let Ok(note) = Note::new(text.to_owned(), "a.md") else { return };
    let tasks: Vec<Task> = note.tasks().into_iter().map(|found| found.task).collect();
    for (number, found) in note.tasks().iter().enumerate() {
        let edited = found.with(&note.text, "Goal", value);
        let mut expected = tasks.clone();
        expected[number].goal = super::field::as_read_back(value);
        let mut taken = note.clone();
        // It says yes only if nothing but that goal is another.
        if taken.set_tasks(edited, &expected).is_ok() {
            let now: Vec<Task> = taken.tasks().into_iter().map(|found| found.task).collect();
            assert!(
                now == expected && taken.properties().ok() == note.properties().ok(),
                "{text:?} became {:?}",
                taken.text
            );
        }
        let edited = found.with(&note.text, "Status", "Complete");
        let again = Note::new(edited.clone(), "a.md").expect("still a note");
        if let Some(same) = again.tasks().get(number) {
            assert!(same.task.number == found.task.number, "{text:?} became {edited:?}");
        }
        let removed = task::renumbered(&found.removed(&note.text));
        assert!(Note::new(removed, "a.md").is_ok());
    }
    let renumbered = task::renumbered(&note.text);
    let names = |text: &str| {
        Note::new(text.to_owned(), "a.md")
            .expect("a note")
            .tasks()
            .into_iter()
            .map(|found| found.task.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&renumbered), names(text), "{text:?}");
    assert_eq!(task::renumbered(&renumbered), renumbered, "{text:?}");
    let mut edited = note.clone();
    for name in ["Outcome", "Notes"] {
        if edited.set_section(name, value).is_ok() {
            assert_eq!(edited.properties().ok(), note.properties().ok());
        }
    }
    if edited.set_criteria(&[value, "another"]).is_ok() {
        assert_eq!(edited.properties().ok(), note.properties().ok());
    }
    edited.set_heading("a", value);
    let _ = edited.set("title", value);
}
