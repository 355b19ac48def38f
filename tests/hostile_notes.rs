//! Notes that cost more than they are long: every marker of the reader of Markdown, alone and in
//! pairs, repeated without end.

use crate::support::thorough;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::time::Duration;
use vault_sync_mcp::markdown::parts::Note;
use vault_sync_mcp::markdown::{self, links};

/// Whatever means something to the reader of Markdown, frontmatter or canvases.
const MARKERS: [&str; 52] = [
    "#", "#t ", "# ", "[", "]", "[[", "]]", "![[", "](", "[a](", "(", ")", "<", ">", "> ", "`",
    "``", "```\n", "~~~\n", "$", "$$", "%%", "<!--", "-->", "<div>", "<pre", "</pre>", "\\", "!",
    "|", "|-|\n", "- ", "- [ ] ", "1. ", "*", "_", "=\n", "---\n", "\t", "    ", " ^a", "^", "::",
    "\"", "'", "{", "}", "&a ", ": ", "é", "a", "\n",
];

const PROSE: &str = "The pump in the cellar was replaced in [[March]], see #heating and the notes \
                     of *last year*.\n";

/// The processor time of this thread: what else the machine does takes none of it.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

/// Everything that an index, a list or a search reads of a note.
fn read(text: &str) -> Duration {
    let started = processor_time();
    std::hint::black_box(markdown::tags(text));
    std::hint::black_box(links::links(text));
    let note = Note::of(text);
    std::hint::black_box((note.headings(), note.blocks(), note.tasks()));
    processor_time() - started
}

fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len() + 1)
}

/// Prose of as many bytes and lines as a text.
fn prose_like(text: &str) -> String {
    let (bytes, lines) = (text.len(), text.lines().count().max(1));
    let words = repeated(PROSE, bytes);
    let mut prose = String::new();
    for line in words
        .replace('\n', " ")
        .as_bytes()
        .chunks(bytes.div_ceil(lines))
        .map(String::from_utf8_lossy)
    {
        prose.push_str(&line[..line.len() - 1]);
        prose.push('\n');
    }
    prose
}

#[test]
fn no_marker_and_no_pair_of_markers_costs_more_than_ten_times_what_prose_costs() {
    let pairs =
        MARKERS.iter().flat_map(|first| MARKERS.iter().map(move |second| (*first, *second)));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    // One in thirteen, each marker with four others and with itself.
    let some = pairs
        .iter()
        .enumerate()
        .filter(|(number, (first, second))| number % 13 == 0 || first == second);
    let some: Vec<(&str, &str)> = some.map(|(_, pair)| *pair).collect();
    let worst = if thorough() {
        [costly(&pairs, 1 << 14), costly(&some, 1 << 20)].concat()
    } else {
        costly(&some, 1 << 14)
    };
    assert!(
        worst.is_empty(),
        "{} texts cost more than ten times what prose does: {:.1?}",
        worst.len(),
        &worst[..worst.len().min(40)]
    );
}

/// The texts of so many bytes that cost more than ten times what prose does, with how many times,
/// the costliest first.
fn costly(pairs: &[(&str, &str)], bytes: usize) -> Vec<(f64, String)> {
    let mut known: BTreeMap<usize, Duration> = BTreeMap::new();
    let mut worst: Vec<(f64, String)> = Vec::new();
    for (first, second) in pairs {
        let pair = format!("{first}{second}");
        let shapes = [
            repeated(&pair, bytes),
            // One that opens, and many that could close it, or the other way round.
            format!("{first}{}", repeated(second, bytes)),
            format!("---\n{}\n---\n", repeated(&pair, bytes)),
            format!("---\na: {first}{}\n---\n", repeated(second, bytes)),
        ];
        for (number, text) in shapes.iter().enumerate() {
            let lines = text.lines().count();
            let prose = *known
                .entry(lines)
                .or_insert_with(|| (0..3).map(|_| read(&prose_like(text))).min().unwrap());
            if read(text).as_secs_f64() <= 10.0 * prose.as_secs_f64() {
                continue;
            }
            // Again, in turns: what else the machine does leaves both less of the caches.
            let like = prose_like(text);
            let (reads, of_prose): (Vec<Duration>, Vec<Duration>) =
                (0..10).map(|_| (read(text), read(&like))).unzip();
            let ratio = reads.iter().min().unwrap().as_secs_f64()
                / of_prose.iter().min().unwrap().as_secs_f64();
            if ratio > 10.0 {
                worst.push((ratio, format!("shape {number} of {first:?} {second:?}")));
            }
        }
    }
    worst.sort_by(|one, other| other.0.total_cmp(&one.0));
    worst
}
