//! Dependencies: edges of a canvas and `depends_on` of notes, which say the same. Neither may go in a circle.

use super::canvas::{Canvas, Edited, form, node_of};
use super::change::Change;
use super::position::{Position, position_for};
use super::snapshot::{Accomplishment, Snapshot};
use super::{Accomplishments, Error, invalid};
use crate::secret;
use crate::slice::Part;
use crate::vault::{Vault, VaultPath};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::iter::successors;
use std::sync::Arc;

/// A dependency that was added or removed.
#[derive(Debug)]
pub struct Dependency {
    /// Where the blocked one's node is now.
    pub position: Option<Position>,
    /// What was done, in words.
    pub message: String,
}

/// What a note was brought in line with.
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
    /// Edges that are no dependency, and why; in words.
    pub errors: Vec<String>,
}

/// Who blocks whom.
#[derive(Debug, Default)]
pub(super) struct Graph {
    blocks: HashMap<String, Vec<String>>,
}

impl Graph {
    /// As the notes say.
    pub(super) fn of(snapshot: &Snapshot) -> Graph {
        let mut graph = Graph::default();
        for accomplishment in &snapshot.all {
            accomplishment.depends_on.iter().for_each(|blocker| graph.add(blocker, &accomplishment.id));
        }
        graph
    }

    fn add(&mut self, blocker: &str, blocked: &str) {
        self.blocks.entry(blocker.to_owned()).or_default().push(blocked.to_owned());
    }

    fn remove_all_of(&mut self, blocked: &str) {
        self.blocks.values_mut().for_each(|all| all.retain(|one| one != blocked));
    }

    /// The shortest path on which one blocks another.
    fn shortest_path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        // All that were reached, each with the one before it.
        let mut before: HashMap<&str, Option<&str>> = HashMap::from([(from, None)]);
        let mut open = VecDeque::from([from]);
        while let Some(last) = open.pop_front() {
            if last == to {
                let mut path: Vec<String> = successors(Some(last), |step| before.get(step).copied().flatten()).map(str::to_owned).collect();
                path.reverse();
                return Some(path);
            }
            for next in self.blocks.get(last).into_iter().flatten() {
                if let Entry::Vacant(new) = before.entry(next) {
                    new.insert(Some(last));
                    open.push_back(next);
                }
            }
        }
        None
    }

    /// Refuses when one of the blockers is itself blocked by what it is to block. `hint` ends the words.
    ///
    /// # Errors
    /// [`Error::CircularDependency`] naming the circle.
    pub(super) fn ensure_acyclic(&self, blockers: &[String], blocked: &str, hint: &str) -> Result<(), Error> {
        for blocker in blockers {
            if let Some(shortest_path) = self.shortest_path(blocked, blocker) {
                let circle = shortest_path.iter().map(String::as_str).chain([blocked]).collect::<Vec<_>>().join(" -> ");
                return Err(Error::CircularDependency(format!("That would be a circle, each blocking the next: {circle}.{hint}")));
            }
        }
        Ok(())
    }
}

/// What the edges of a canvas say: blocker and blocked by id; and the edges between accomplishments that do
/// not say which is which.
fn edges_of<'a>(canvas: &Canvas, snapshot: &'a Snapshot) -> (Vec<(&'a str, &'a str)>, Vec<String>) {
    let by_path: HashMap<Cow<'_, str>, &str> = snapshot.all.iter().map(|found| (form(found.path.as_str()), found.id.as_str())).collect();
    let nodes: HashMap<&str, Option<&str>> =
        canvas.nodes.iter().map(|node| (&*node.id, node.file.as_deref().and_then(|file| by_path.get(file).copied()))).collect();
    let (mut mapped, mut unmapped) = (Vec::new(), Vec::new());
    for edge in &canvas.edges {
        let accomplishment = |node: &str| nodes.get(node).copied().flatten();
        // An edge of another card is a person's.
        let (Some(one), Some(other)) = (accomplishment(&edge.from_node), accomplishment(&edge.to_node)) else { continue };
        match edge.direction() {
            Some((from, _)) if *from == edge.from_node => mapped.push((one, other)),
            Some(_) => mapped.push((other, one)),
            None => unmapped.push(format!(
                "Edge {} between {one} and {other} has no arrow, or two, so it does not say which blocks the other",
                edge.id
            )),
        }
    }
    (mapped, unmapped)
}

/// How many dependencies between accomplishments on a canvas stand only there, or only in the notes.
pub(super) fn count_differences(canvas: &Canvas, snapshot: &Snapshot) -> usize {
    let drawn: HashSet<(&str, &str)> = edges_of(canvas, snapshot).0.into_iter().collect();
    let shown = snapshot.on(canvas);
    let ids: HashSet<&str> = shown.iter().map(|found| found.id.as_str()).collect();
    let written: HashSet<(&str, &str)> = shown
        .iter()
        .flat_map(|found| found.depends_on.iter().map(|blocker| (blocker.as_str(), found.id.as_str())))
        .filter(|(blocker, _)| ids.contains(blocker))
        .collect();
    drawn.symmetric_difference(&written).count()
}

const DISAGREE: &str = " Canvas and notes disagree about dependencies; sync_dependencies brings the notes in line with the canvas.";

/// Draws an edge, unless there is one.
pub(super) fn connect(canvas: &mut Edited, blocker: &str, blocked: &str) -> Result<(), Error> {
    if canvas.read()?.edges.iter().any(|edge| edge.direction() == Some((blocker, blocked))) {
        return Ok(());
    }
    let id = secret::new_id().map_err(|error| invalid(error.to_string()))?;
    canvas.add_edge(id.part(..16), blocker, blocked);
    Ok(())
}

/// Has an accomplishment depend on these and no others, where it depended on `old`: its note, and the edges of its canvas.
pub(super) fn set_dependencies(
    change: &mut Change<'_>,
    accomplishment: &Accomplishment,
    old: &[String],
    wanted: &[String],
) -> Result<(), Error> {
    let (id, path) = (&accomplishment.id, &accomplishment.path);
    let added: Vec<String> = wanted.iter().filter(|blocker| !old.contains(blocker)).cloned().collect();
    for blocker in &added {
        change.snapshot.find(blocker)?;
    }
    if wanted.contains(id) {
        return Err(Error::CircularDependency(format!("{id} cannot depend on itself.")));
    }
    let mut graph = Graph::of(change.snapshot);
    graph.remove_all_of(id);
    graph.ensure_acyclic(wanted, id, "")?;
    let canvas_path = change.canvas_of(accomplishment)?;
    let snapshot = change.snapshot;
    let canvas = match change.canvas(&canvas_path, false) {
        // What is on no canvas has no edges to lose.
        Err(Error::CanvasNotFound(_)) if added.is_empty() => return change.note(path)?.set("depends_on", wanted),
        other => other?,
    };
    let read = canvas.read()?;
    let (drawn, _) = edges_of(&read, snapshot);
    drawn.iter().filter(|(_, blocked)| blocked != id).for_each(|(blocker, blocked)| graph.add(blocker, blocked));
    graph.ensure_acyclic(wanted, id, DISAGREE)?;
    // Nodes of a note that is there several times count all.
    let nodes_of = |path: &VaultPath| -> Vec<String> { read.nodes_of(path).map(|(_, node)| node.id.clone()).collect() };
    let mut fresh = Vec::new();
    for blocker in wanted.iter().filter(|blocker| !drawn.contains(&(blocker.as_str(), id.as_str()))) {
        let ends = snapshot.find(blocker).and_then(|other| {
            let own = node_of(&read, path, id, &canvas_path)?;
            Ok((node_of(&read, &other.path, blocker, &canvas_path)?.id.to_string(), own.id.to_string()))
        });
        match ends {
            Ok(ends) => fresh.push(ends),
            // What the note had before may lie elsewhere, or nowhere.
            Err(_) if !added.contains(blocker) => {}
            Err(error) => return Err(error),
        }
    }
    let own_nodes = nodes_of(path);
    // Only what was named goes: an edge that a person drew and that the note does not have is for sync_dependencies.
    let gone: HashSet<String> = old
        .iter()
        .filter(|blocker| !wanted.contains(blocker))
        .filter_map(|blocker| snapshot.about(blocker))
        .flat_map(|other| nodes_of(&other.path))
        .collect();
    canvas.remove_edges(|edge| edge.direction().is_some_and(|(from, to)| gone.contains(from) && own_nodes.iter().any(|own| own == to)))?;
    for (blocker, blocked) in fresh {
        connect(canvas, &blocker, &blocked)?;
    }
    change.note(path)?.set("depends_on", wanted)
}

impl Accomplishments {
    /// Has one accomplishment block another: an edge, `depends_on`, and the blocked one's node moved to the right of those it
    /// waits for.
    ///
    /// # Errors
    /// Those of [`Snapshot::find`], [`Error::CircularDependency`], [`Invalid`](crate::vault::Error::Invalid) when they are not on one canvas,
    /// [`Error::CanvasNotFound`], or the vault's.
    pub fn add_dependency(&self, vault: &Vault, blocker: &str, blocked: &str) -> Result<Dependency, Error> {
        self.change(vault, |change| {
            change.snapshot.find(blocker)?;
            let accomplishment = change.snapshot.find(blocked)?.clone();
            let others: Vec<String> = accomplishment.depends_on.iter().filter(|id| *id != blocker).cloned().collect();
            let known = others.len() < accomplishment.depends_on.len();
            let wanted = if known { accomplishment.depends_on.clone() } else { [others.as_slice(), &[blocker.to_owned()]].concat() };
            let canvas_path = change.canvas_of(&accomplishment)?;
            let before = change.canvas(&canvas_path, false)?.text.clone();
            // A dependency that one side has already is completed on the other.
            set_dependencies(change, &accomplishment, &others, &wanted)?;
            let snapshot = change.snapshot;
            let canvas = change.canvas(&canvas_path, false)?;
            let read = canvas.read()?;
            let own = node_of(&read, &accomplishment.path, blocked, &canvas_path)?.id.to_string();
            let blockers: Vec<_> = wanted.iter().filter_map(|id| read.node_of(&snapshot.about(id)?.path)).collect();
            // One that is there already moves nothing.
            let here = read.node_of(&accomplishment.path).map(|node| Position { x: node.x, y: node.y });
            let position = match here.filter(|_| known && canvas.text == before) {
                Some(here) => here,
                None => position_for(&read, &blockers, Some(&own)),
            };
            if here != Some(position) {
                canvas.move_node(&own, position)?;
            }
            if !known {
                change.touch(&accomplishment.path)?;
            }
            let message =
                if known { format!("{blocked} depends on {blocker} already.") } else { format!("{blocker} blocks {blocked} now.") };
            Ok(Dependency {
                position: Some(position),
                message: message + describe_differences(change, &canvas_path, &accomplishment, &wanted)?,
            })
        })
    }

    /// Has one accomplishment not block another any more. Its node stays where it is.
    ///
    /// # Errors
    /// As [`Accomplishments::add_dependency`].
    pub fn remove_dependency(&self, vault: &Vault, blocker: &str, blocked: &str) -> Result<Dependency, Error> {
        self.change(vault, |change| {
            let accomplishment = change.snapshot.find(blocked)?.clone();
            let left: Vec<String> = accomplishment.depends_on.iter().filter(|id| *id != blocker).cloned().collect();
            let known = left.len() < accomplishment.depends_on.len();
            if !known {
                // It may be gone and still be depended on; but something must know it.
                change.snapshot.find(blocker)?;
            }
            let canvas_path = change.canvas_of(&accomplishment)?;
            let drawn = |change: &mut Change<'_>| match change.canvas(&canvas_path, false) {
                Ok(canvas) => canvas.read().map(Some),
                Err(Error::CanvasNotFound(_)) => Ok(None),
                Err(other) => Err(other),
            };
            let edges = |canvas: &Option<Canvas>| canvas.as_ref().map_or(0, |canvas| canvas.edges.len());
            let before = drawn(change)?;
            // One that only the canvas has is named all the same.
            set_dependencies(change, &accomplishment, &[left.as_slice(), &[blocker.to_owned()]].concat(), &left)?;
            let after = drawn(change)?;
            let known = known || edges(&after) < edges(&before);
            if known {
                change.touch(&accomplishment.path)?;
            }
            let position = after.and_then(|canvas| canvas.node_of(&accomplishment.path).map(|node| Position { x: node.x, y: node.y }));
            let message = if known {
                format!("{blocker} does not block {blocked} any more.")
            } else {
                format!("{blocked} did not depend on {blocker}.")
            };
            let more = if position.is_some() { describe_differences(change, &canvas_path, &accomplishment, &left)? } else { "" };
            Ok(Dependency { position, message: message + more })
        })
    }

    /// Brings the notes on a canvas in line with its edges. Dependencies on accomplishments that are not on this canvas stay:
    /// it says nothing of them. Edges that would close a circle are left out and reported.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`Malformed`](crate::vault::Error::Malformed), or the vault's.
    pub fn sync(&self, vault: &Vault, path: &VaultPath) -> Result<Synced, Error> {
        self.change(vault, |change| {
            let snapshot = change.snapshot;
            let canvas = self.canvas_at(vault, path)?;
            let (drawn, mut errors) = edges_of(&canvas, snapshot);
            let shown: BTreeSet<&str> = snapshot.on(&canvas).iter().map(|found| found.id.as_str()).collect();
            for id in snapshot.duplicates.iter().filter(|id| shown.contains(id.as_str())) {
                errors.push(format!("{id} is the id of several notes; none of them was changed"));
            }
            for problem in
                snapshot.problems.iter().filter(|problem| canvas.nodes.iter().any(|node| node.file.as_deref() == Some(&problem.path)))
            {
                errors.push(format!("{} cannot be used: {}", problem.path, problem.why));
            }
            // What this canvas says nothing of.
            let kept = |found: &Accomplishment| -> Vec<String> {
                let elsewhere = |id: &&String| !shown.contains(id.as_str()) && snapshot.about(id).is_some();
                found.depends_on.iter().filter(elsewhere).cloned().collect()
            };
            let mut graph = Graph::default();
            let all: Vec<&Accomplishment> = snapshot.iter().collect();
            for found in &all {
                let fixed = if shown.contains(found.id.as_str()) { kept(found) } else { found.depends_on.clone() };
                fixed.iter().for_each(|blocker| graph.add(blocker, &found.id));
            }
            let mut blockers: HashMap<&str, Vec<&str>> = HashMap::new();
            for (blocker, blocked) in drawn {
                let known = blockers.entry(blocked).or_default();
                if known.contains(&blocker) {
                    continue;
                }
                if let Err(circle) = graph.ensure_acyclic(&[blocker.to_owned()], blocked, "") {
                    errors.push(format!("The edge from {blocker} to {blocked} was left out. {circle}"));
                    continue;
                }
                graph.add(blocker, blocked);
                known.push(blocker);
            }
            let mut updates = Vec::new();
            for found in all.into_iter().filter(|found| shown.contains(found.id.as_str()) && !snapshot.duplicates.contains(&found.id)) {
                let drawn = blockers.get(found.id.as_str()).map(Vec::as_slice).unwrap_or_default();
                let stays = |id: &&String| drawn.contains(&id.as_str()) || kept(found).contains(id);
                let mut new: Vec<String> = found.depends_on.iter().filter(stays).cloned().collect();
                let fresh: Vec<String> =
                    drawn.iter().filter(|id| !new.iter().any(|known| known == *id)).map(|id| (*id).to_owned()).collect();
                new.extend(fresh);
                if new != found.depends_on {
                    if let Err(error) = change.note(&found.path)?.set("depends_on", new.as_slice()) {
                        errors.push(error.to_string());
                        continue;
                    }
                    change.touch(&found.path)?;
                    updates.push(Update {
                        id: found.id.clone(),
                        title: found.title.clone(),
                        old_depends_on: found.depends_on.clone(),
                        new_depends_on: new,
                    });
                }
            }
            Ok(Synced { total: snapshot.on(&canvas).len(), updates, errors })
        })
    }
}

/// Words about other dependencies in which canvas and notes differ, if there are any after a change.
fn describe_differences(
    change: &mut Change<'_>,
    canvas: &VaultPath,
    changed: &Accomplishment,
    now: &[String],
) -> Result<&'static str, Error> {
    let mut all = change.snapshot.all.clone();
    all.iter_mut().filter(|found| found.path == changed.path).for_each(|found| Arc::make_mut(found).depends_on = now.to_vec());
    let after = Snapshot::of(all, Vec::new());
    let count = count_differences(&change.canvas(canvas, false)?.read()?, &after);
    Ok(if count > 0 { DISAGREE } else { "" })
}

impl Accomplishments {
    /// The accomplishments whose notes are on a canvas, and whether canvas and notes agree about their dependencies.
    ///
    /// # Errors
    /// [`Error::CanvasNotFound`], [`Malformed`](crate::vault::Error::Malformed), or the vault's.
    pub fn on_canvas<'a>(&self, vault: &Vault, snapshot: &'a Snapshot, path: &VaultPath) -> Result<(Vec<&'a Accomplishment>, bool), Error> {
        let canvas = self.canvas_at(vault, path)?;
        let shown = snapshot.on(&canvas);
        let agrees = count_differences(&canvas, snapshot) == 0;
        Ok((shown, agrees))
    }
}
