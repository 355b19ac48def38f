//! Links, headings, blocks and tasks are where they say; an insertion leaves every byte outside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::markdown::insert::{Position, Target, insert};
use vault_sync_mcp::markdown::links::{links, links_of};
use vault_sync_mcp::markdown::parts::Note;
use vault_sync_mcp::markdown::resolve::{Files, resolve};
use vault_sync_mcp::markdown::tasks::fields_of;

fuzz_target!(|text: &str| {
    let mut files = Files::default();
    text.lines().for_each(|path| files.insert(&path.into()));
    for link in links(text).into_iter().chain(links_of("x.canvas", text)) {
        assert!(link.range.start <= link.target.start && link.target.end <= link.range.end, "{link:?}");
        assert!(text.get(link.range.clone()).is_some() && text.get(link.target.clone()).is_some(), "{link:?}");
        let _ = resolve(&link.path, "a/b", &files);
    }
    let note = Note::of(text);
    for task in note.tasks() {
        assert_eq!(text.get(task.status_at.clone()).and_then(|status| status.chars().next()), Some(task.status));
        let _ = fields_of(text.get(task.content.clone()).unwrap());
    }
    let (headings, blocks) = (note.headings(), note.blocks());
    let targets = headings.iter().take(8).map(|heading| Target::Heading(&heading.text));
    let targets = targets.chain(blocks.iter().take(8).map(|block| Target::Block(&block.id)));
    for target in targets.chain([Target::Note, Target::Line(1), Target::Line(3)]) {
        for position in [Position::Start, Position::End, Position::Before, Position::After, Position::Replace] {
            let Ok((edit, line)) = insert(&note, target, position, "- [ ] new", true) else { continue };
            let made = edit.apply(text);
            assert!(made.starts_with(&text[..edit.range.start]) && made.ends_with(&text[edit.range.end..]));
            assert!(Note::of(&made).line(line - 1).contains("- [ ] new"), "{text:?} {target:?} {position:?}: {made:?}");
        }
    }
});
