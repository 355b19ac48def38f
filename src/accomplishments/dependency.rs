//! Dependencies: edges of a canvas and `depends_on` of notes, which agree. Neither may have a
//! cycle.

use super::canvas::{Canvas, Position, node_of};
use super::change::Change;
use super::position::position_for;
use super::snapshot::{Accomplishment, Snapshot};
use super::{Accomplishments, Error, new_id};
use crate::store::Store;
use crate::vault::{Vault, VaultPath};
use serde::Serialize;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::iter::successors;

/// How a note was brought in line with the canvas.
#[derive(Debug, Serialize)]
pub struct Update {
    pub id: String,
    pub title: String,
    pub old_depends_on: Vec<String>,
    pub new_depends_on: Vec<String>,
}

/// What [`Accomplishments::sync`] did.
#[derive(Debug)]
pub struct Synced {
    /// Accomplishments on the canvas.
    pub total: usize,
    /// Notes that were changed.
    pub updates: Vec<Update>,
    /// Messages about edges that are not dependencies, and why.
    pub errors: Vec<String>,
}

/// What each accomplishment depends on, by id.
type Graph<'a> = HashMap<&'a str, Vec<&'a str>>;

/// The dependencies in the notes.
fn graph_of(snapshot: &Snapshot) -> Graph<'_> {
    let mut graph = Graph::new();
    for found in snapshot.iter() {
        graph.entry(&found.id).or_default().extend(found.depends_on.iter().map(String::as_str));
    }
    graph
}

/// Refuses blockers that depend, directly or not, on what they are to block. `hint` ends the
/// message.
///
/// # Errors
/// [`Error::CircularDependency`] naming the shortest cycle.
fn ensure_acyclic(
    graph: &Graph<'_>,
    blockers: &[&str],
    blocked: &str,
    hint: &str,
) -> Result<(), Error> {
    if blockers.contains(&blocked) {
        return Err(Error::CircularDependency(format!("{blocked} cannot depend on itself.")));
    }
    // All that the blockers depend on, each with the one that depends on it.
    let mut before: HashMap<&str, Option<&str>> =
        blockers.iter().map(|blocker| (*blocker, None)).collect();
    let mut open: VecDeque<&str> = blockers.iter().copied().collect();
    while let Some(last) = open.pop_front() {
        if last == blocked {
            let circle: Vec<&str> =
                successors(Some(last), |step| before.get(step).copied().flatten())
                    .chain([blocked])
                    .collect();
            let circle = circle.join(" -> ");
            return Err(Error::CircularDependency(format!(
                "That would be a circle, each blocking the next: {circle}.{hint}"
            )));
        }
        for next in graph.get(last).into_iter().flatten().copied() {
            if let Entry::Vacant(new) = before.entry(next) {
                new.insert(Some(last));
                open.push_back(next);
            }
        }
    }
    Ok(())
}

/// A dependency drawn on a canvas.
pub(super) struct Drawn<'a> {
    pub(super) blocker: &'a str,
    pub(super) blocked: &'a str,
    /// The number of the edge.
    edge: usize,
}

/// The dependencies drawn on a canvas, and messages about edges between accomplishments without a
/// direction. `new` is an accomplishment that the snapshot does not have yet.
pub(super) fn drawn_on<'a>(
    canvas: &Canvas,
    snapshot: &'a Snapshot,
    new: Option<(&'a VaultPath, &'a str)>,
) -> (Vec<Drawn<'a>>, Vec<String>) {
    let mut by_path = snapshot.ids_by_path();
    by_path.extend(new.map(|(path, id)| (path.as_str(), id)));
    let nodes: HashMap<&str, Option<&str>> = canvas
        .nodes
        .iter()
        .map(|node| (&*node.id, node.file.as_deref().and_then(|file| by_path.get(file).copied())))
        .collect();
    let (mut drawn, mut unclear) = (Vec::new(), Vec::new());
    for (number, edge) in canvas.edges.iter().enumerate() {
        let accomplishment = |node: &str| nodes.get(node).copied().flatten();
        // An edge to any other card is a person's.
        let (Some(one), Some(other)) =
            (accomplishment(&edge.from_node), accomplishment(&edge.to_node))
        else {
            continue;
        };
        match edge.direction() {
            Some((from, _)) if *from == edge.from_node => {
                drawn.push(Drawn { blocker: one, blocked: other, edge: number })
            }
            Some(_) => drawn.push(Drawn { blocker: other, blocked: one, edge: number }),
            None => unclear.push(format!(
                "Edge {} between {one} and {other} has no arrow, or two, so it does not say which \
                 blocks the other",
                edge.id
            )),
        }
    }
    (drawn, unclear)
}

/// Messages about the edges between an accomplishment and a card whose note does not exist.
fn edges_to_missing_notes(canvas: &Canvas, snapshot: &Snapshot, vault: &Vault) -> Vec<String> {
    let ids = snapshot.ids_by_path();
    let files: HashMap<&str, &str> =
        canvas.nodes.iter().filter_map(|node| Some((&*node.id, node.file.as_deref()?))).collect();
    let mut messages = Vec::new();
    for edge in &canvas.edges {
        let file = |node: &str| files.get(node).copied();
        let (Some(one), Some(other)) = (file(&edge.from_node), file(&edge.to_node)) else {
            continue;
        };
        for (id, missing) in [(ids.get(one), other), (ids.get(other), one)] {
            if let Some(id) = id
                && vault.view.get(missing).is_none()
            {
                messages.push(format!(
                    "Edge {} between {id} and the card of {missing} was left out: there is no \
                     such note",
                    edge.id
                ));
            }
        }
    }
    messages
}

const DISAGREE: &str = " Canvas and notes disagree about dependencies; sync_dependencies brings \
                        the notes in line with the canvas, or names the edges that cannot be.";

/// The accomplishment whose dependencies are changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocked<'a> {
    pub(super) id: &'a str,
    pub(super) note: &'a VaultPath,
    pub(super) canvas: &'a VaultPath,
}

/// Replaces an accomplishment's dependencies `old` by `wanted`, in its note and in the edges of its
/// canvas. `named` are those of `wanted` that the caller names: they may close no cycle, and their
/// edges are drawn.
pub(super) fn set_dependencies(
    change: &mut Change<'_>,
    Blocked { id, note: path, canvas: canvas_path }: Blocked<'_>,
    old: &[String],
    wanted: &[String],
    named: &[&str],
) -> Result<(), Error> {
    let snapshot = change.snapshot;
    let added: Vec<&str> =
        wanted.iter().filter(|blocker| !old.contains(blocker)).map(String::as_str).collect();
    // A new accomplishment is not in the snapshot.
    for blocker in added.iter().filter(|blocker| **blocker != id) {
        snapshot.find(blocker)?;
    }
    let mut graph = graph_of(snapshot);
    graph.remove(id);
    ensure_acyclic(&graph, named, id, "")?;
    let canvas = match change.canvas(canvas_path, false) {
        // What is on no canvas has no edges to lose.
        Err(Error::CanvasNotFound(_)) if added.is_empty() => {
            return change.note(path)?.set("depends_on", wanted);
        }
        other => other?,
    };
    let read = canvas.read()?;
    let (drawn, _) = drawn_on(&read, snapshot, Some((path, id)));
    for other in drawn.iter().filter(|drawn| drawn.blocked != id) {
        graph.entry(other.blocked).or_default().push(other.blocker);
    }
    ensure_acyclic(&graph, named, id, DISAGREE)?;
    // Where else edges and note disagree, sync_dependencies decides.
    let is_gone = |blocker: &str| {
        old.iter().any(|one| one == blocker) && !wanted.iter().any(|one| one == blocker)
    };
    let gone = drawn.iter().filter(|drawn| drawn.blocked == id && is_gone(drawn.blocker));
    canvas.remove_edges(&gone.map(|drawn| drawn.edge).collect::<Vec<_>>());
    for blocker in named.iter().filter(|blocker| {
        !drawn.iter().any(|drawn| drawn.blocker == **blocker && drawn.blocked == id)
    }) {
        let ends = snapshot.find(blocker).and_then(|other| {
            let own = node_of(&read, path, id, canvas_path)?;
            Ok((node_of(&read, &other.path, blocker, canvas_path)?, own))
        });
        match ends {
            Ok((from, to)) => canvas.add_edge(&new_id(), &from.id, &to.id),
            // An old dependency may be on another canvas, or on none.
            Err(_) if !added.contains(blocker) => {}
            Err(error) => return Err(error),
        }
    }
    change.note(path)?.set("depends_on", wanted)
}

impl Accomplishments {
    /// Adds or removes a dependency: an edge and `depends_on`. With `add` the blocked one's node is
    /// moved to the right of its blockers. Returns where that node is now, if it is on a canvas,
    /// and a message about what was done.
    ///
    /// # Errors
    /// Those of [`Snapshot::find`], [`Error::CircularDependency`],
    /// [`Invalid`](crate::vault::Error::Invalid) when they are not on one canvas,
    /// [`Error::CanvasNotFound`], or the vault's.
    pub fn set_dependency(
        &self,
        store: &Store,
        blocker: &str,
        blocked: &str,
        add: bool,
    ) -> Result<(Option<Position>, String), Error> {
        let (position, message, canvas) = self.change(store, |change| {
            let snapshot = change.snapshot;
            let accomplishment = snapshot.find(blocked)?;
            let others: Vec<String> =
                accomplishment.depends_on.iter().filter(|id| *id != blocker).cloned().collect();
            let known = others.len() < accomplishment.depends_on.len();
            if add || !known {
                // A dependency on a deleted accomplishment can be removed; any other id has to
                // exist.
                snapshot.find(blocker)?;
            }
            let all = if known {
                accomplishment.depends_on.clone()
            } else {
                [others.as_slice(), &[blocker.to_owned()]].concat()
            };
            // A dependency that only note or canvas has is added to the other; one that only the
            // canvas has is removed too.
            let (old, wanted, named) =
                if add { (&others, &all, &[blocker][..]) } else { (&all, &others, &[][..]) };
            let path = change.canvas_of(accomplishment)?;
            let before = change.canvas_if_any(&path)?.map(|canvas| canvas.text());
            set_dependencies(
                change,
                Blocked { id: blocked, note: &accomplishment.path, canvas: &path },
                old,
                wanted,
                named,
            )?;
            let (mut position, mut is_redrawn) = (None, false);
            if let Some(canvas) = change.canvas_if_any(&path)? {
                is_redrawn = before != Some(canvas.text());
                let read = canvas.read()?;
                let own = read.node_of(&accomplishment.path);
                position = own.map(|node| Position { x: node.x, y: node.y });
                // A dependency that existed already moves nothing.
                if let Some(own) = own.filter(|_| add && (is_redrawn || !known)) {
                    let blockers: Vec<_> = wanted
                        .iter()
                        .filter_map(|id| read.node_of(&snapshot.first_with_id(id)?.path))
                        .collect();
                    let to = position_for(&read, &blockers, Some(&own.id));
                    if position.replace(to) != Some(to) {
                        canvas.move_node(&own.id, to)?;
                    }
                }
            }
            if known != add {
                change.set_updated(&accomplishment.path)?;
            }
            let message = match (add, known) {
                (true, false) => format!("{blocker} blocks {blocked} now."),
                (true, true) => format!("{blocked} depends on {blocker} already."),
                (false, false) if !is_redrawn => format!("{blocked} did not depend on {blocker}."),
                (false, _) => format!("{blocker} does not block {blocked} any more."),
            };
            Ok((position, message, path))
        })?;
        let disagree = self
            .on_canvas(store.vault(), &self.snapshot(store.vault())?, &canvas)
            .is_ok_and(|(_, agrees)| !agrees);
        Ok((position, message + if disagree { DISAGREE } else { "" }))
    }

    /// Brings the notes on a canvas in line with its edges. Dependencies on accomplishments that
    /// are not on this canvas, or whose note cannot be read, stay.
    /// Edges that would close a cycle are left out and reported.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`Malformed`](crate::vault::Error::Malformed), or the vault's.
    pub fn sync(&self, store: &Store, path: &VaultPath) -> Result<Synced, Error> {
        self.change(store, |change| {
            let snapshot = change.snapshot;
            let canvas = self.canvas_at(store.vault(), path)?;
            let (drawn, mut errors) = drawn_on(&canvas, snapshot, None);
            let on_canvas = snapshot.with_node_on(&canvas);
            let shown: BTreeSet<&str> = on_canvas.iter().map(|found| found.id.as_str()).collect();
            for id in snapshot.duplicates.iter().filter(|id| shown.contains(id.as_str())) {
                errors.push(format!("{id} is the id of several notes; none of them was changed"));
            }
            for problem in snapshot.problems.iter().filter(|problem| {
                canvas.nodes.iter().any(|node| node.file.as_deref() == Some(&*problem.path))
            }) {
                errors.push(format!("{} cannot be used: {}", problem.path, problem.why));
            }
            errors.extend(edges_to_missing_notes(&canvas, snapshot, store.vault()));
            let unreadable: HashSet<&str> =
                snapshot.problems.iter().filter_map(|problem| problem.id.as_deref()).collect();
            // What each depends on: what is drawn, and whatever is not on this canvas.
            let mut graph = Graph::new();
            for found in snapshot.iter() {
                let is_elsewhere = |id: &str| {
                    !shown.contains(id)
                        && (snapshot.first_with_id(id).is_some() || unreadable.contains(id))
                };
                let is_fixed = |id: &&str| !shown.contains(&*found.id) || is_elsewhere(id);
                graph
                    .entry(&found.id)
                    .or_default()
                    .extend(found.depends_on.iter().map(String::as_str).filter(is_fixed));
            }
            for Drawn { blocker, blocked, .. } in drawn {
                if graph.get(blocked).is_some_and(|known| known.contains(&blocker)) {
                    continue;
                }
                match ensure_acyclic(&graph, &[blocker], blocked, "") {
                    Ok(()) => graph.entry(blocked).or_default().push(blocker),
                    Err(circle) => errors.push(format!(
                        "The edge from {blocker} to {blocked} was left out; manage_dependency \
                         with remove takes it off the canvas. {circle}"
                    )),
                }
            }
            let mut updates = Vec::new();
            for found in on_canvas.iter().filter(|found| !snapshot.duplicates.contains(&found.id)) {
                let wanted = graph.get(found.id.as_str()).map(Vec::as_slice).unwrap_or_default();
                // Those that the note has keep their order.
                let mut new: Vec<String> = found
                    .depends_on
                    .iter()
                    .filter(|id| wanted.contains(&id.as_str()))
                    .cloned()
                    .collect();
                new.extend(
                    wanted
                        .iter()
                        .filter(|id| !found.depends_on.iter().any(|known| known == **id))
                        .map(|id| (*id).to_owned()),
                );
                if new != found.depends_on {
                    if let Err(error) = change.note(&found.path)?.set("depends_on", new.as_slice())
                    {
                        errors.push(error.to_string());
                        continue;
                    }
                    change.set_updated(&found.path)?;
                    updates.push(Update {
                        id: found.id.clone(),
                        title: found.title.clone(),
                        old_depends_on: found.depends_on.clone(),
                        new_depends_on: new,
                    });
                }
            }
            Ok(Synced { total: on_canvas.len(), updates, errors })
        })
    }

    /// The accomplishments whose notes are on a canvas, and whether canvas and notes agree about
    /// their dependencies.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`Malformed`](crate::vault::Error::Malformed), or the vault's.
    pub fn on_canvas<'a>(
        &self,
        vault: &Vault,
        snapshot: &'a Snapshot,
        path: &VaultPath,
    ) -> Result<(Vec<&'a Accomplishment>, bool), Error> {
        let canvas = self.canvas_at(vault, path)?;
        let shown = snapshot.with_node_on(&canvas);
        let drawn: HashSet<(&str, &str)> = drawn_on(&canvas, snapshot, None)
            .0
            .iter()
            .map(|drawn| (drawn.blocker, drawn.blocked))
            .collect();
        let ids: HashSet<&str> = shown.iter().map(|found| found.id.as_str()).collect();
        let all = shown.iter().flat_map(|found| {
            found.depends_on.iter().map(|blocker| (blocker.as_str(), found.id.as_str()))
        });
        let agrees = drawn == all.filter(|(blocker, _)| ids.contains(blocker)).collect();
        Ok((shown, agrees))
    }
}
