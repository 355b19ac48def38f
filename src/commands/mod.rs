//! What each command does: wiring, and messages for the person at the terminal.

mod check;
mod control;
mod demo;
mod grants;
mod init;
mod lines;
mod outside;
mod probes;
mod questions;
pub mod sample_vault;
mod secrets;
mod serve;
mod systems;
mod undo;
#[cfg(feature = "agent")]
mod wiki;

#[cfg(feature = "agent")]
use crate::agent::supervise;
use crate::change::log::Log;
use crate::cli::{self, Raw};
use crate::clock::Moment;
use crate::config::{Config, Environment, Purpose};
use crate::disk;
use crate::env_file;
use crate::mcp::Server;
use crate::store::Store;
use crate::tools::Toolset;
use crate::vault::Vault;
use log::LevelFilter;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Exit code for a wrong command line or configuration.
const WRONG: u8 = 2;
/// Bytes of a file of settings: hundreds of users.
const ENV_FILE_BYTES: u64 = 1024 * 1024;
/// Exit code for everything else that failed.
const FAILED: u8 = 1;

fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(ENV_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Runs the program; gives its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg_attr(
        not(feature = "agent"),
        allow(unused_mut, reason = "without sessions no argument is taken from it")
    )]
    let mut arguments = arguments.into_iter().peekable();
    #[cfg(feature = "agent")]
    if arguments.next_if(|first| first == supervise::SUPERVISE).is_some() {
        return supervise::supervise(arguments).unwrap_or_else(|why| fail(why, WRONG));
    }
    let variable =
        |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let mut parsed = cli::parse(arguments, variable);
    if let Some(file) = parsed.flag(cli::ENV_FILE) {
        // A pipe of another user cannot be opened by its name.
        let read = match file {
            "-" => read_stdin(),
            file => disk::read_at_most(Path::new(file), ENV_FILE_BYTES),
        };
        match read {
            Ok(bytes) => parsed.add_file(env_file::parse(&String::from_utf8_lossy(&bytes))),
            Err(error) => {
                let why = error.kind();
                parsed.mistakes.push(format!("--{}: {file} cannot be read: {why}", cli::ENV_FILE));
            }
        }
    }
    if !parsed.mistakes.is_empty() {
        let purpose = match parsed.command {
            "serve" | "check" if parsed.flag("server").is_none() => Some(Purpose::Network),
            "stdio" | "init-wiki" | "undo" => Some(Purpose::Local),
            _ => None,
        };
        let more = purpose
            .map(|purpose| Config::with_mistakes(&parsed.raw, purpose, &environment()).1)
            .unwrap_or_default();
        parsed.mistakes.extend(more.iter().map(ToString::to_string));
        return print_mistakes(parsed.mistakes.iter());
    }
    let (raw, word) = (&parsed.raw, parsed.words.first().map(String::as_str));
    match parsed.command {
        "version" => {
            let sets: Vec<&str> = Toolset::built_in().map(Toolset::name).collect();
            print(&format!("vault-sync-mcp {} ({})\n", env!("CARGO_PKG_VERSION"), sets.join(", ")))
        }
        "hash-password" => secrets::hash_password(),
        "generate-token" => secrets::generate_token(word.unwrap_or("token")),
        "stdio" => configured(raw, Purpose::Local, stdio),
        "serve" => configured(raw, Purpose::Network, serve::serve),
        "check" => parsed.flag("server").map_or_else(|| check::check(raw), outside::check_server),
        "demo" => exit_code(demo::demo(raw)),
        "init" => exit_code(init::init(&parsed)),
        "grants" => exit_code(grants::list(raw)),
        "revoke" => exit_code(grants::revoke(raw, word)),
        "undo" => {
            let (login, since) =
                (parsed.flag("login").unwrap_or_default(), parsed.since().unwrap_or_default());
            let dry_run = parsed.flag("dry-run").is_some();
            run_on_vault(raw, LevelFilter::Warn, |config| {
                exit_code(undo::undo(raw, &config, login, since, dry_run))
            })
        }
        #[cfg(feature = "agent")]
        "init-wiki" => run_on_vault(raw, LevelFilter::Error, wiki::init_wiki),
        "help" => print(&cli::help(word)),
        other => fail(format!("{other}: this program was built without toolset agent"), WRONG),
    }
}

/// The exit code of a command, or of the step that failed and has said why.
fn exit_code(code: Result<u8, u8>) -> u8 {
    code.unwrap_or_else(|code| code)
}

fn configured(raw: &Raw, purpose: Purpose, run: impl FnOnce(Config) -> u8) -> u8 {
    let (config, mut mistakes) = Config::with_mistakes(raw, purpose, &environment());
    probes::probe(&config, purpose, false, &mut mistakes, &mut Vec::new());
    if !mistakes.is_empty() {
        let code = print_mistakes(mistakes.iter());
        if raw.get("VAULT_PATH").is_none() && matches!(purpose, Purpose::Network) {
            print_error("To try it without any configuration: vault-sync-mcp demo\n");
        }
        return code;
    }
    start_logging(config.log_level);
    run(config)
}

/// Runs a command that opens the vault itself, logging at `level` at most.
fn run_on_vault(raw: &Raw, level: LevelFilter, run: impl FnOnce(Config) -> u8) -> u8 {
    match Config::read(raw, Purpose::Local, &environment()) {
        Ok(config) => {
            start_logging(config.log_level.min(level));
            run(config)
        }
        Err(mistakes) => print_mistakes(mistakes.iter()),
    }
}

fn environment() -> Environment {
    Environment {
        home: std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok()),
        state_directory: std::env::var("STATE_DIRECTORY").ok(),
        state_home: ["XDG_STATE_HOME", "HOME"].into_iter().find_map(|name| {
            let folder = PathBuf::from(std::env::var_os(name)?);
            let folder = if name == "HOME" { folder.join(".local/state") } else { folder };
            folder.is_absolute().then_some(folder)
        }),
        variables: std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect(),
    }
}

fn stdio(config: Config) -> u8 {
    let Some(engine) = engine(&config) else { return FAILED };
    let served = Arc::clone(&engine);
    let work = move || match crate::stdio::serve(&served, io::stdin(), io::stdout()) {
        Ok(()) => 0,
        Err(error) => {
            log::error!("stdin failed: {error}");
            FAILED
        }
    };
    until_signal(work, move || {
        engine.systems.stop();
        engine.systems.wait_for_writing_sessions();
    })
}

/// Runs `work` on a thread until it ends; on SIGTERM or SIGINT calls `stop` and abandons `work`. A
/// second signal ends the process at once: whoever presses Ctrl-C again does not want to wait.
/// Gives the exit code.
fn until_signal(
    work: impl FnOnce() -> u8 + Send + 'static,
    stop: impl FnOnce() + Send + 'static,
) -> u8 {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let (done, ended) = std::sync::mpsc::channel();
    let started = Signals::new([SIGTERM, SIGINT]).and_then(|signals| {
        let handle = signals.handle();
        let run = move || {
            let _ = done.send(work());
            handle.close();
        };
        std::thread::Builder::new().name("work".into()).spawn(run).map(|_| signals)
    });
    match started {
        Ok(mut signals) => match signals.forever().next() {
            Some(_) => {
                log::info!("stopping");
                let (stopped, code) = std::sync::mpsc::channel();
                let in_a_hurry = stopped.clone();
                let stop = move || {
                    stop();
                    let _ = stopped.send(0);
                };
                let second = move || {
                    if signals.forever().next().is_some() {
                        let _ = in_a_hurry.send(FAILED);
                    }
                };
                let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
                    std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
                };
                // Without threads the process ends at once.
                let started = start("stop", Box::new(stop))
                    .and_then(|()| start("second signal", Box::new(second)));
                started.unwrap_or_else(|error| log::warn!("no thread: {error}"));
                code.recv().unwrap_or(FAILED)
            }
            None => ended.recv().unwrap_or(FAILED),
        },
        Err(error) => {
            log::error!("no thread, or signals cannot be handled: {error}");
            FAILED
        }
    }
}

/// Opens the vault with its log and, unless read-only, takes back what a crash has left half done
/// in it. Logs why and gives `None` if it cannot be opened.
fn open_vault(config: &Config) -> Option<(Store, Option<Arc<Log>>)> {
    let vault = Vault::open_with(&config.vault_path, Arc::clone(&config.hidden))
        .inspect_err(|error| log::error!("the vault cannot be opened: {error}"))
        .ok()?;
    let log = config.state_dir.as_deref().filter(|_| config.versions).map(Log::at);
    let store = Store::new(vault, log.clone());
    if !config.read_only {
        store.changes().recover();
    }
    Some((store, log))
}

/// The protocol engine over the configured vault, with its watcher thread. Logs why and gives
/// `None` if it cannot start.
fn engine(config: &Config) -> Option<Arc<Server>> {
    config.warnings.iter().for_each(|note| log::warn!("{note}"));
    let (store, log) = open_vault(config)?;
    let systems = systems::open(config, &store);
    let engine = Server::new(
        store.clone(),
        &config.toolsets,
        config.read_only,
        config.options.clone(),
        systems,
    );
    let engine = Arc::new(engine);
    engine.start_watching().inspect_err(|error| log::error!("no thread: {error}")).ok()?;
    // The index is built while the first client initializes; for toolsets that choose notes by
    // frontmatter, that is read too.
    let reads_frontmatter = [Toolset::Context, Toolset::Accomplishments]
        .iter()
        .any(|set| config.toolsets.contains(set));
    #[cfg(feature = "notes")]
    let has_notes = config.toolsets.contains(&Toolset::Notes);
    let filling = std::thread::Builder::new().name("index".into()).spawn(move || {
        let started = crate::clock::instant();
        match store.vault().refresh() {
            Ok(()) => {
                log::info!(
                    "index complete: {} files in {} ms",
                    store.vault().size(),
                    started.elapsed().as_millis()
                );
                store.search().prepare();
                #[cfg(feature = "notes")]
                if has_notes {
                    store.prepare_notes();
                }
            }
            Err(error) => log::error!("{error}"),
        }
        if let Some(Err(error)) = log.map(|log| log.clean(Moment::read())) {
            log::warn!("old versions cannot be removed: {error}");
        }
        if reads_frontmatter {
            // Reads the frontmatter of all notes, whichever property is asked for.
            let _ = store.vault().values_of("context");
        }
    });
    filling.inspect_err(|error| log::error!("no thread: {error}")).ok()?;
    Some(engine)
}

/// Log lines on stderr: time and level, unless journald adds both. A message stays one line
/// whatever is in it.
fn start_logging(level: LevelFilter) {
    let in_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let format = move |buffer: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
        let message: String = record
            .args()
            .to_string()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let level = record.level();
        // The number is syslog's priority; journald strips it (sd-daemon(3)).
        match (in_journal, level) {
            (true, log::Level::Error) => writeln!(buffer, "<3>{message}"),
            (true, log::Level::Warn) => writeln!(buffer, "<4>{message}"),
            (true, log::Level::Info) => writeln!(buffer, "<6>{message}"),
            (true, _) => writeln!(buffer, "<7>{message}"),
            (false, _) => writeln!(buffer, "{} {level:<5} {message}", Moment::read().rfc3339()),
        }
    };
    let target = env_logger::Target::Pipe(Box::new(lines::Lines::default()));
    env_logger::Builder::new().filter_level(level).format(format).target(target).init();
}

/// Prints to stdout; gives exit code 0. A reader that has gone (`| head`) is not a failure.
fn print(text: &str) -> u8 {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    0
}

/// Rows in columns, each as wide as it has to be.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        widths
            .iter_mut()
            .zip(row)
            .for_each(|(width, cell)| *width = (*width).max(cell.chars().count()));
    }
    let line = |row: &[String; N]| {
        row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect::<String>()
    };
    rows.iter().map(|row| format!("{}\n", line(row).trim_end())).collect()
}

/// Prints to stderr.
fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints why a command failed; gives its exit code.
fn fail(why: impl std::fmt::Display, code: u8) -> u8 {
    print_error(&format!("vault-sync-mcp: {why}\n"));
    code
}

/// Prints mistakes to stderr, and gives the exit code [`WRONG`].
fn print_mistakes(mistakes: impl ExactSizeIterator<Item = impl std::fmt::Display>) -> u8 {
    let count = mistakes.len();
    print_error(&format!(
        "vault-sync-mcp: {count} mistake{}:\n",
        if count == 1 { "" } else { "s" }
    ));
    for mistake in mistakes {
        print_error(&format!("  - {mistake}\n"));
    }
    WRONG
}
