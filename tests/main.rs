//! The integration tests: the real binary over real sockets and pipes, against real folders.
//!
//! | module | what belongs there |
//! |---|---|
//! | `http` | bytes against the HTTP layer: drips, pipelining, smuggling, limits, shutdown |
//! | `load` | too many, too slow, too much: eviction, floods, threads, descriptors |
//! | `wire` | conversations word for word, from files, over HTTP and stdio: eras, checks, methods |
//! | `mcp` | what a file cannot show: handshakes, sessions, resources, answers that are cut |
//! | `streams` | event streams: progress, cancelling, log messages, subscriptions |
//! | `oauth` | whole logins, and attacks on them in plain words |
//! | `oauth_clients` | registration, and clients with a secret |
//! | `oauth_state` | what the authorization server keeps: kill -9, damage, a disk that refuses, a second server |
//! | `oauth_owner` | what the owner decides and sees; floods; every path |
//! | `account` | the owner's page: what it shows and takes back, and who is kept out |
//! | `oauth_clock` | expiry, and clocks that jump |
//! | `tools` | what each tool answers on the sample vault; vaults before and after |
//! | `results` | what tools declare: descriptions, schemas, annotations |
//! | `context` | the tools of toolset `context` |
//! | `git` | toolset `git`: commits, remotes, refusals |
//! | `git_attacks` | what attacks on it found |
//! | `git_faults` | kill -9 at any point, remotes that hang, writers at the same time |
//! | `git_files` | files and repositories of rare kinds |
//! | `git_recovery` | writes that are interrupted, people who use the repository meanwhile |
//! | `git_hooks` | what hooks see, what a delete keeps, how a refusal is reported |
//! | `grants` | grants by folder, against vaults that hold only those folders; `HIDE` |
//! | `grant_choice` | choosing the folders of a grant, and what leads out of none |
//! | `search_words` | which words of a note are the words that were asked for |
//! | `search` | search against a slow reference, with little memory, while the vault is indexed or gone |
//! | `fresh` | changes by other programs, and the next call |
//! | `vault` | hostile paths, links, odd files |
//! | `vault_writers` | writers at the same time, in this program and in others; kill -9 |
//! | `note_parts` | ids of blocks, properties and breaks as other programs write them |
//! | `crashes` | kill -9 and a full disk at every system call of a change |
//! | `links`, `link_rules`, `renames` | what links mean; moves and renames of files, headings and tags |
//! | `stdio` | the same engine over pipes |
//! | `accomplishments` | projects: notes before and after, documents, answers |
//! | `accomplishments_canvas` | canvases, and what depends on what |
//! | `accomplishments_refusals` | errors, faults, calls at the same time |
//! | `by_hand` | what people write by hand in the notes of a project |
//! | `agent` | toolset `agent`, with programs that do what Claude Code never should |
//! | `agent_confinement` | what a session cannot do, and that it ends |
//! | `agent_filing` | what sessions write, and how it gets into the vault |
//! | `wiki` | the command `init-wiki` |
//! | `agent_jobs` | its costs, routes, jobs that go on, attachments |
//! | `misuse` | arguments that are nearly right |
//! | `forms` | names, lists, quotations and conditions in the forms that models and people write |
//! | `faults` | full and broken disks, vaults that go, logs that are not read, programs that write at the same time |
//! | `hostile` | notes, names, expressions and floods made to use up memory, time or connections |
//! | `memory` | what logins can make the program hold, against what the unit allows |
//! | `commands` | the command line and the configuration |
//! | `tidy` | the rules of this project |

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]
#![cfg_attr(
    not(feature = "default"),
    allow(dead_code, unused_imports, reason = "what the tests of absent toolsets share")
)]

#[cfg(feature = "accomplishments")]
mod accomplishments;
#[cfg(feature = "accomplishments")]
mod accomplishments_canvas;
#[cfg(feature = "accomplishments")]
mod accomplishments_refusals;
#[cfg(feature = "notes")]
mod account;
#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "agent")]
mod agent_confinement;
#[cfg(feature = "agent")]
mod agent_filing;
#[cfg(feature = "agent")]
mod agent_jobs;
#[cfg(feature = "notes")]
mod as_obsidian;
#[cfg(feature = "notes")]
mod blocks;
#[cfg(feature = "accomplishments")]
mod by_hand;
mod commands;
#[cfg(feature = "context")]
mod context;
#[cfg(feature = "notes")]
mod crashes;
mod faults;
#[cfg(feature = "notes")]
mod forms;
mod fresh;
#[cfg(feature = "git")]
mod git;
#[cfg(feature = "git")]
mod git_attacks;
#[cfg(feature = "git")]
mod git_faults;
#[cfg(feature = "git")]
mod git_files;
#[cfg(feature = "git")]
mod git_hooks;
#[cfg(feature = "git")]
mod git_recovery;
#[cfg(all(feature = "git", feature = "default"))]
mod git_toolsets;
#[cfg(feature = "default")]
mod grant_choice;
#[cfg(feature = "default")]
mod grants;
mod hostile;
mod hostile_notes;
mod http;
#[cfg(feature = "notes")]
mod link_rules;
#[cfg(feature = "notes")]
mod links;
mod load;
mod mcp;
mod memory;
#[cfg(feature = "notes")]
mod misuse;
#[cfg(feature = "notes")]
mod note_parts;
#[cfg(feature = "notes")]
mod notes;
mod oauth;
mod oauth_attacks;
mod oauth_clients;
mod oauth_clock;
mod oauth_owner;
mod oauth_state;
#[cfg(feature = "notes")]
mod queries;
#[cfg(feature = "notes")]
mod renames;
mod research;
#[cfg(feature = "default")]
mod results;
mod search;
mod search_language;
mod search_results;
mod search_words;
mod stdio;
mod streams;
mod support;
mod tidy;
#[cfg(feature = "default")]
mod tools;
#[cfg(feature = "notes")]
mod undo;
mod vault;
mod vault_writers;
#[cfg(feature = "agent")]
mod wiki;
mod wire;
#[cfg(feature = "notes")]
mod wishes;
