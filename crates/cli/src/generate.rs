//! Files that are derived from the flags: `preheat completions SHELL` for the user's shell, and
//! `preheat generate DIRECTORY` for packages and docs.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use preheat_model::run::IterationRule;

use crate::args::{Arguments, CompletionsArguments, GenerateArguments, MAX_HELP_WIDTH, epilogue};
use crate::output::print;

const PROGRAM: &str = "preheat";

/// The width of literal text in man pages, which indent it by 7 columns of 80.
const MAN_WIDTH: usize = 72;

/// Completes what follows `--` as the command line that it is, with the functions of
/// bash-completion, or else as a program or a file.
const BASH_COMMANDS: &str = r#"
_preheat_or_command() {
    local at
    for ((at = 2; at < COMP_CWORD; at++)); do
        if [[ ${COMP_WORDS[at]} == -- ]]; then
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset $((at + 1))
            elif declare -F _command_offset >/dev/null; then
                _command_offset $((at + 1))
            elif ((COMP_CWORD == at + 1)); then
                COMPREPLY=($(compgen -c -- "$2"))
            fi
            return 0
        fi
    done
    _preheat "$@"
}
complete -F _preheat_or_command -o bashdefault -o default preheat
"#;

/// The same for fish, and the shells of `completions`, which clap leaves out.
const FISH_COMMANDS: &str = r#"
function __fish_preheat_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    and complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end
complete -c preheat -n "__fish_preheat_using_subcommand run start; and contains -- -- (commandline -opc)" -f -a "(__fish_preheat_command)"
complete -c preheat -n "__fish_preheat_using_subcommand completions" -f -a "bash zsh fish"
"#;

pub fn run(arguments: &GenerateArguments) -> Result<ExitCode> {
    let directory = &arguments.directory;
    completions(&directory.join("completions"))?;
    man_pages(&directory.join("man"))?;
    write(&directory.join("reference.md"), reference().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the script of a shell.
pub fn print_completions(arguments: &CompletionsArguments) -> Result<ExitCode> {
    print(completion(arguments.shell).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// `preheat` for bash, `_preheat` for zsh, `preheat.fish`.
fn completions(directory: &Path) -> Result<()> {
    for (shell, name) in [
        (Shell::Bash, "preheat"),
        (Shell::Zsh, "_preheat"),
        (Shell::Fish, "preheat.fish"),
    ] {
        write(&directory.join(name), completion(shell).as_bytes())?;
    }
    Ok(())
}

fn completion(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut completed(), "preheat", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    script.push_str(match shell {
        Shell::Bash => BASH_COMMANDS,
        Shell::Fish => FISH_COMMANDS,
        // The value hint of the command is enough.
        _ => "",
    });
    script
}

/// The commands and flags to complete: those that are not hidden. `--iterations` takes more than
/// the plain names that can be completed.
fn completed() -> clap::Command {
    let of = Arguments::command();
    let shown = |sub: &&clap::Command| !sub.is_hide_set();
    let subcommands = of.get_subcommands().filter(shown).map(|sub| {
        sub.clone().mut_args(|arg| {
            let values = match arg.get_id().as_str() {
                "iterations" => IterationRule::SIMPLE.map(|(name, _)| name),
                _ => return arg,
            };
            arg.value_parser(PossibleValuesParser::new(values))
        })
    });
    clap::Command::new("preheat")
        .version(env!("CARGO_PKG_VERSION"))
        .args(of.get_arguments())
        .subcommands(subcommands)
}

/// `preheat.1`, and a page for each command.
fn man_pages(directory: &Path) -> Result<()> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let page = |name: &str, of: clap::Command| {
        let text = man_page(name, of)?;
        write(&directory.join(format!("{name}.1")), &text)
    };
    page(PROGRAM, command.clone())?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("preheat-{}", sub.get_name());
        page(&name, sub.clone().display_name(name.clone()))?;
    }
    Ok(())
}

fn man_page(name: &str, mut of: clap::Command) -> Result<Vec<u8>> {
    let usage = of.render_usage().to_string();
    let below = epilogue(of.get_name());
    // The description of a help is the text above its usage.
    if let Some(text) = of.get_before_help().map(ToString::to_string) {
        of = of.long_about(text);
    }
    let subcommands = of.get_subcommands().any(|sub| !sub.is_hide_set());
    // Without the date of the build, the same flags give the same page. An empty one would be
    // left out, and shift the rest.
    let man = clap_mangen::Man::new(of)
        .title(name)
        .date(" ")
        .source(concat!("preheat ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    literal(&mut page, "SYNOPSIS", usage.trim_start_matches("Usage: "));
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(below) = below {
        let sections = [
            ("NOTES", below.notes(MAN_WIDTH)),
            ("EXIT STATUS", capitalized(&below.exit_status(MAN_WIDTH))),
            ("EXAMPLES", below.examples(MAN_WIDTH)),
        ];
        for (title, text) in sections.iter().filter(|(_, text)| !text.is_empty()) {
            literal(&mut page, title, text);
        }
    }
    if name != PROGRAM {
        literal(&mut page, "SEE ALSO", "preheat(1)");
    }
    Ok(page)
}

/// The text with a capital at its beginning.
fn capitalized(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// A section of a man page whose lines are kept.
fn literal(page: &mut Vec<u8>, title: &str, text: &str) {
    page.extend_from_slice(format!(".SH {title}\n.nf\n").as_bytes());
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that begins with a dot or an apostrophe would be a request.
        page.extend_from_slice(format!("\\&{line}\n").as_bytes());
    }
    page.extend_from_slice(b".fi\n");
}

/// The help of every command as one Markdown page.
fn reference() -> String {
    let mut text = String::from(
        "# Flags\n\nThe help of every command (`preheat COMMAND --help`). This page is generated by \
         `preheat generate`; a test fails if it is out of date.\n",
    );
    let mut command = Arguments::of_width(MAX_HELP_WIDTH).disable_help_subcommand(true);
    command.build();
    let mut section = |name: &str, help: String| {
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        text.push_str(&format!(
            "\n## {name}\n\n```text\n{}\n```\n",
            lines.join("\n")
        ));
    };
    section("preheat", command.render_help().to_string());
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let mut sub = sub.clone();
        let help = sub.render_help().to_string();
        section(&format!("preheat {}", sub.get_name()), help);
    }
    text
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, bytes))
        .with_context(|| format!("{} could not be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_have_values_and_no_hidden_commands() {
        let script = completion(Shell::Bash);
        assert!(script.contains("process disk caches bytecode"), "{script}");
        assert!(!script.contains("generate"), "{script}");
        for flag in ["--starts", "--max-regression", "--version"] {
            assert!(script.contains(flag), "{flag}");
        }
    }

    #[test]
    fn man_pages_show_values_and_keep_the_lines_of_tables() {
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let run = command.find_subcommand("run").expect("run").clone();
        let page = man_page("preheat-run", run).expect("a page");
        let page = String::from_utf8(page).expect("text");
        let order = [
            "DESCRIPTION\nRuns the command",
            "NOTES",
            "EXIT STATUS\n",
            "EXAMPLES\n",
        ];
        let places = order.map(|section| page.find(&format!(".SH {section}")).expect(section));
        assert!(places.is_sorted(), "{page}");
        assert!(
            page.contains("preheat run [OPTIONS] <COMMAND>..."),
            "{page}"
        );
        assert!(
            page.contains("\n\\&  kernels                the period"),
            "{page}"
        );
        assert!(page.contains(concat!("preheat ", env!("CARGO_PKG_VERSION"))));
    }

    #[test]
    fn the_reference_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == reference(),
            "docs/reference.md is out of date; `cargo run -- generate target/generated` and copy \
             target/generated/reference.md there"
        );
    }
}
