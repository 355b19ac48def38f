//! vault-sync-mcp: an Obsidian vault for Claude and other MCP clients, behind OAuth 2.1, in one
//! small binary.
//!
//! This page is the map. Every file begins by saying what it holds; every top-level module has a
//! row in the table. A module uses only those above it that its row names, which a test
//! (`tests/tidy.rs`) holds.
//!
//! # Modules
//!
//! | module | holds | may use |
//! |---|---|---|
//! | `limits` | bounds that several modules use, with unit and reason | |
//! | `lock` | locks that stay in use after a panic | |
//! | `slice` | parts of texts by ranges that were computed from them | |
//! | `clock` | the clocks; nothing else reads them | |
//! | `calendar` | dates in the owner's time zone, and how Obsidian writes them | `clock` `slice` |
//! | `secret` | random tokens, hashes, comparison in constant time | |
//! | `percent` | percent-encoding | |
//! | `form` | form and query decoding | `limits` `percent` |
//! | `uri` | `vault:` URIs, and those that open a note in Obsidian | `percent` |
//! | `object` | JSON objects without the members that are null | |
//! | `cursor` | cursors of paged lists | |
//! | `network` | networks of IP addresses | |
//! | `quota` | a shared number of permits | `clock` `lock` |
//! | `disk` | the one writer: whole files, atomically and durably | `secret` `slice` |
//! | `text` | text as it is compared: folding, words, compact texts in memory | `limits` `slice` |
//! | `yaml` | YAML as values, with a budget | `limits` |
//! | `markdown` | what the text of a note means: frontmatter, headings, list items, code, tags | `clock` `limits` `percent` `slice` `text` `yaml` |
//! | `settings` | the table of settings | |
//! | `vault` | the folder: paths, the index of its files, reading; changes no file, and of MCP knows the names of tools in its errors | `calendar` `clock` `disk` `limits` `lock` `markdown` `percent` `quota` `secret` `slice` `text` |
//! | `principal` | who is asking, and what they may do | `vault` |
//! | `change` | changing the vault: all of a change or nothing, recorded first; old versions, and taking back | `clock` `disk` `limits` `lock` `markdown` `secret` `slice` `text` `vault` `yaml` |
//! | `search` | search: queries, the word index, the ranking, what is shown of a result | `calendar` `clock` `limits` `lock` `markdown` `quota` `slice` `text` `vault` |
//! | `links` | links between notes, and changes that keep them right: moving, renaming, deleting | `change` `clock` `disk` `limits` `lock` `markdown` `percent` `quota` `search` `slice` `text` `vault` |
//! | `notes` | parts of notes, tasks, templates, and the expression language of Obsidian's Bases | `calendar` `change` `clock` `limits` `links` `markdown` `slice` `text` `vault` `yaml` |
//! | `store` | the vault with its search, its links and the way to change it; what tools get | `change` `links` `lock` `notes` `search` `vault` |
//! | `http` | HTTP/1.1 on blocking sockets; knows nothing of JSON, MCP or OAuth | `clock` `limits` `lock` `network` `quota` `slice` |
//! | `rpc` | JSON-RPC messages; knows no method and no transport | `object` |
//! | `oauth` | the authorization server: decisions over plain values and the time; of HTTP it knows the status of an error | `clock` `disk` `form` `limits` `lock` `object` `percent` `principal` `quota` `secret` `text` `vault` |
//! | `process` | child processes: a process group each, drained pipes, timeouts; the only module that starts one | `clock` `limits` `slice` |
//! | `git` | the vault as a git repository | `change` `clock` `disk` `limits` `process` `secret` `settings` `vault` |
//! | `accomplishments` | projects: notes and canvases that people edit too, changed in place and together | `change` `clock` `limits` `lock` `markdown` `secret` `slice` `store` `vault` `yaml` |
//! | `wiki` | the starter wiki | `disk` |
//! | `agent` | confined Claude Code sessions over a copy of the wiki | `change` `clock` `disk` `limits` `lock` `markdown` `process` `quota` `secret` `slice` `store` `vault` `wiki` |
//! | `tools` | what a model can do, one file each; cannot make a protocol error | `accomplishments` `agent` `calendar` `change` `clock` `cursor` `git` `limits` `links` `markdown` `notes` `object` `principal` `search` `slice` `store` `text` `uri` `vault` |
//! | `prompts` | what a person can start, with notes in it | `calendar` `clock` `limits` `principal` `search` `text` `tools` `vault` |
//! | `mcp` | the protocol: methods, eras, sessions; knows no socket and no status code | `change` `clock` `cursor` `limits` `lock` `object` `principal` `prompts` `quota` `rpc` `search` `secret` `store` `tools` `uri` `vault` |
//! | `web` | routes, guards, and what each endpoint reads and answers | `change` `clock` `form` `http` `limits` `mcp` `network` `oauth` `principal` `quota` `rpc` `secret` `text` `uri` `vault` |
//! | `stdio` | the same engine over pipes | `limits` `lock` `mcp` `principal` `quota` `rpc` |
//! | `env_file` | files of settings, as systemd reads them | |
//! | `cli` | the command line, syntax only | `settings` |
//! | `config` | the configuration, checked as a whole | `accomplishments` `agent` `calendar` `cli` `git` `network` `oauth` `principal` `secret` `settings` `tools` `vault` `yaml` |
//! | `commands` | what each command does: wiring | `accomplishments` `agent` `change` `cli` `clock` `config` `disk` `env_file` `git` `http` `limits` `mcp` `oauth` `process` `secret` `settings` `stdio` `store` `tools` `vault` `web` `wiki` |
//!
//! Rules: no module but `clock` reads the time, no module but `disk` changes a file (the control
//! socket is made by `commands`), no module but `process` starts another program (and the
//! supervisor that it starts for `agent`), and nothing is asynchronous. An absolute path of a note
//! is made in `vault` alone; it is handed to `git` and `agent`, whose programs need one, and never
//! for a client.
//!
//! # One request
//!
//! `POST /mcp` with a `tools/call` of `vault_edit`:
//!
//! | step | file | on failure |
//! |---|---|---|
//! | a thread of its own reads the head, under a total deadline | `http/server`, `http/conn`, `http/head` | 400, 408, 414, 417, 431, 505; 503 above the cap |
//! | the route; the bearer token; Host and Origin; the body, whole; a free worker | `web/mod`, `web/guard`, `http/request` | 404, 401 that leads to a login, 403, 405, 408, 413, 503 |
//! | media types, JSON-RPC, session, revision; of 2026-07-28 envelope and headers | `web/mcp`, `rpc/decode`, `mcp/era`, `mcp/modern` | 406, 415, 400, 404 |
//! | the method and the scope, then the tool: a `Request` and its `Caller` in, an `Answer` out | `mcp/mod`, `mcp/methods`, `mcp/tools` | -32601, -32602, 403 `insufficient_scope` |
//! | the arguments, the path in the vault, the edit | `tools/arguments`, `tools/vault/edit`, `vault/path` | an error result, which the model can correct |
//! | a line in the log, with the old bytes; the new bytes on the disk; the last check; the rename; the index | `change/write`, `change/apply`, `disk`, `vault/index` | the same; the old bytes are in place |
//! | the answer, in one write; or an event stream, if the client asked for progress | `http/conn`, `http/events` | a peer that does not read is disconnected; its disconnect cancels (2026-07-28) |
//!
//! A panic anywhere in between is that request's error and nothing else's. On stdio a message
//! enters at JSON-RPC and leaves after the tool.
//!
//! # Where to add
//!
//! A tool: one file in its set, one line in the set's `TOOLS`. A prompt: a value in [`prompts`]. A
//! method: a row in [`mcp::methods`]. An endpoint: a row in [`web::routes`]. A setting: a row in
//! [`settings`], read in [`config`]. A bound: [`limits`], with its reason. A revision of the
//! protocol: [`mcp::era`]. A module: its row above; that row is the discussion.

#[cfg(feature = "accomplishments")]
pub mod accomplishments;
#[cfg(feature = "agent")]
pub mod agent;
pub mod calendar;
pub mod change;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod cursor;
pub mod disk;
pub mod env_file;
pub mod form;
#[cfg(feature = "git")]
pub mod git;
pub mod http;
pub mod limits;
#[cfg(feature = "notes")]
pub mod links;
pub mod lock;
pub mod markdown;
pub mod mcp;
pub mod network;
#[cfg(feature = "notes")]
pub mod notes;
pub mod oauth;
pub mod object;
pub mod percent;
pub mod principal;
pub mod process;
pub mod prompts;
pub mod quota;
pub mod rpc;
pub mod search;
pub mod secret;
pub mod settings;
pub mod slice;
pub mod stdio;
pub mod store;
pub mod text;
pub mod tools;
pub mod uri;
pub mod vault;
pub mod web;
#[cfg(feature = "agent")]
pub mod wiki;
pub mod yaml;
