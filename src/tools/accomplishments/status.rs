//! The resource `accomplishments://status`: the default project for people to look at, with its dependencies as a graph.

use super::get_project_status::Status;
use super::{projects, snapshot};
use crate::accomplishments::{self, Accomplishment, Snapshot};
use crate::limits;
use crate::tools::{Context, Error, Resource};
use crate::vault::Error as VaultError;
use std::collections::HashSet;
use std::fmt::Write;

pub(super) static RESOURCE: Resource = Resource {
    uri: "accomplishments://status",
    name: "project-status",
    title: "Project status",
    description: "The project on the default canvas as Markdown: numbers, a Mermaid graph of the dependencies, what can be begun, what waits",
    mime_type: "text/markdown",
    read: overview,
};

/// The project on the default canvas as Markdown.
///
/// # Errors
/// `CANVAS_NOT_FOUND` before the first accomplishment, `PARSE_ERROR`, or the vault's.
pub fn overview(context: &Context<'_>) -> Result<String, Error> {
    let projects = projects(context)?;
    let snapshot = snapshot(context)?;
    let canvas = projects.canvas(None)?;
    let (shown, agrees, broken) = match projects.on_canvas(context.vault, &snapshot, &canvas) {
        Ok((shown, agrees)) => (shown, agrees, None),
        // What the notes say can be shown without the canvas.
        Err(error @ accomplishments::Error::Vault(VaultError::Malformed { .. })) => {
            (snapshot.iter().collect(), true, Some(error))
        }
        Err(error) => return Err(error.into()),
    };
    let status = Status::of(&snapshot, &shown, canvas.as_str(), agrees);
    let mut text = format!(
        "# Project status: {}\n\n{} accomplishments: {} ready to start, {} being worked on, {} blocked. {} of {} tasks complete ({} %).\n",
        canvas.as_str(),
        status.total_accomplishments,
        status.ready_to_start_count,
        status.in_progress_count,
        status.blocked_count,
        status.completed_tasks,
        status.total_tasks,
        status.task_completion_percentage,
    );
    if let Some(error) = broken {
        let _ = writeln!(text, "\n{error} Below are all accomplishments of the vault.");
    }
    if !agrees {
        text.push_str("\nCanvas and notes disagree about dependencies; `sync_dependencies` brings the notes in line with the canvas, or names the edges that cannot be.\n");
    }
    graph(&mut text, &shown);
    table(&mut text, &snapshot, &shown);
    Ok(text)
}

fn graph(text: &mut String, shown: &[&Accomplishment]) {
    let (drawn, left) = shown.split_at_checked(limits::GRAPH_NODES).unwrap_or((shown, &[]));
    let known: HashSet<&str> = drawn.iter().map(|found| found.id.as_str()).collect();
    text.push_str("\n```mermaid\nflowchart LR\n");
    for found in drawn {
        let class = found.status.replace(' ', "");
        // In a Mermaid label only the quote and the number sign are special.
        let title = title_of(found).replace('#', "#35;").replace('"', "#quot;");
        let _ = writeln!(text, "    {}[\"{}: {title}\"]:::{class}", node(&found.id), found.id);
    }
    for found in drawn {
        for blocker in found
            .depends_on
            .iter()
            .filter(|blocker| known.contains(blocker.as_str()))
            .take(limits::GRAPH_NODES)
        {
            let _ = writeln!(text, "    {} --> {}", node(blocker), node(&found.id));
        }
    }
    text.push_str("    classDef Completed fill:#cfe8cf,color:#111\n    classDef InProgress fill:#fdf0c4,color:#111\n");
    text.push_str("    classDef Blocked fill:#f6cfcf,color:#111\n    classDef NotStarted fill:#e8e8e8,color:#111\n```\n");
    if !left.is_empty() {
        let _ = writeln!(text, "\n{} more are not drawn.", left.len());
    }
}

/// The title in one line; one that a person wrote in YAML may have several.
fn title_of(found: &Accomplishment) -> String {
    super::clipped(&found.title, limits::GRAPH_TITLE_CHARS).replace(char::is_control, " ")
}

fn node(id: &str) -> String {
    id.replace('-', "")
}

fn table(text: &mut String, snapshot: &Snapshot, shown: &[&Accomplishment]) {
    text.push_str(
        "\n| id | title | status | priority | waits for | tasks |\n|---|---|---|---|---|---|\n",
    );
    for (number, found) in shown.iter().enumerate() {
        let waits = super::clipped(
            &snapshot.blocking(found).collect::<Vec<_>>().join(", "),
            limits::GRAPH_TITLE_CHARS,
        );
        let title = title_of(found).replace('|', "\\|");
        let mark = if found.in_progress { " (now)" } else { "" };
        let (done, all) = (found.completed_tasks(), found.body.tasks.len());
        let _ = writeln!(
            text,
            "| {} | {title}{mark} | {} | {} | {waits} | {done}/{all} |",
            found.id, found.status, found.priority
        );
        if text.len() > limits::RESULT_CHARS - 1_000 {
            let _ = writeln!(
                text,
                "\n{} more are not listed; list_accomplishments has them.",
                shown.len() - number - 1
            );
            return;
        }
    }
}
