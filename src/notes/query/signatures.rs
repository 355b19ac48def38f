//! The functions of the language, by how many arguments they take.

/// Functions without a value before them, by how many arguments they take.
pub(super) const GLOBALS: [Names; 5] = [
    ("now random today", 0, 0),
    ("date duration escapeHTML file list number", 1, 1),
    ("link", 1, 2),
    ("max min", 1, usize::MAX),
    ("if", 2, 3),
];

/// Functions whose values only Obsidian's window can show.
pub(super) const NEED_THE_APP: [&str; 3] = ["html", "icon", "image"];

/// Functions of a value, by how many arguments they take.
pub(super) const METHODS: [Names; 6] = [
    (
        "abs asFile ceil date flat floor isEmpty isTruthy keys lower mean relative reverse sort \
         time title toString trim unique values",
        0,
        0,
    ),
    ("asLink round", 0, 1),
    (
        "contains endsWith filter format hasLink hasProperty inFolder isType join linksTo map \
         matches repeat startsWith toFixed",
        1,
        1,
    ),
    ("slice split", 1, 2),
    ("containsAll containsAny hasTag", 1, usize::MAX),
    ("reduce replace", 2, 2),
];

/// All names of a table, with what each takes.
pub(super) fn names(table: &'static [Names]) -> impl Iterator<Item = Names> {
    table
        .iter()
        .flat_map(|(names, least, most)| names.split(' ').map(move |name| (name, *least, *most)))
}

/// Names separated by spaces, and the least and most arguments of each.
pub(super) type Names = (&'static str, usize, usize);
