//! Arguments in, exit code out. Everything else is in the library.

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    vault_sync_mcp::commands::run(std::env::args_os().skip(1)).into()
}
