/** Parses the handwritten CHANGELOG.md and checks its format. */

const VERSION_HEADING = /^## \[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2}|unreleased)$/;
/** What an operator must do to upgrade. Every version has this section, even if there is nothing to do. */
const REQUIRED = 'What you must do';
/** The sections from https://keepachangelog.com/en/1.1.0/, plus our own. */
const SECTIONS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', REQUIRED];

export type Release = { version: string; date: string; notes: string };

/** The versions, newest first. `notes`: everything below the heading. Headings in another format are left out. */
export function releasesIn(changelog: string): Release[] {
  return partsOf(changelog, '## ').flatMap(({ heading, text }) => {
    const match = VERSION_HEADING.exec(heading);
    if (!match) return [];
    const [, major, minor, patch, date] = match;
    return [{ version: `${major}.${minor}.${patch}`, date: date!, notes: text.trim() }];
  });
}

/** The problems with the changelog, one sentence each. Empty if there are none. */
export function changelogProblems(changelog: string, currentVersion: string): string[] {
  const malformed = partsOf(changelog, '## ').filter(({ heading }) => !VERSION_HEADING.test(heading));
  const releases = releasesIn(changelog);
  return [
    ...malformed.map(({ heading }) => `"${heading}" must look like "## [1.2.3] - 2026-01-31" or "… - unreleased".`),
    ...orderProblems(releases, currentVersion),
    ...releases.flatMap(sectionProblems),
  ];
}

function orderProblems(releases: Release[], currentVersion: string): string[] {
  const [first, ...others] = releases;
  if (first?.version !== currentVersion) return [`The first version must be ${currentVersion}, as in package.json.`];
  return [
    ...others.filter(({ date }) => date === 'unreleased').map(({ version }) => `${version} must have a date.`),
    ...releases
      .filter(({ date }) => date !== 'unreleased' && Number.isNaN(Date.parse(date)))
      .map(({ version, date }) => `${version} has the date ${date}, which doesn't exist.`),
    ...others
      .filter(({ version }, index) => compare(releases[index]!.version, version) <= 0)
      .map(({ version }) => `${version} must come before the version above it.`),
  ];
}

function sectionProblems({ version, notes }: Release): string[] {
  const sections = partsOf(notes, '### ').map(({ heading, text }) => ({ name: heading.slice(4), text: text.trim() }));
  const names = sections.map(({ name }) => name);
  return [
    ...(names.includes(REQUIRED) ? [] : [`${version} needs a section "${REQUIRED}", even if it says only "Nothing."`]),
    ...names.filter((name) => !SECTIONS.includes(name)).map((name) => `${version} has an unknown section "${name}".`),
    ...names
      .filter((name, index) => names.indexOf(name) !== index)
      .map((name) => `${version} has the section "${name}" twice.`),
    ...sections.filter(({ text }) => text === '').map(({ name }) => `${version} has an empty section "${name}".`),
  ];
}

/** Splits text at the lines that begin with `start`. Anything before the first such line is left out. */
function partsOf(text: string, start: string): { heading: string; text: string }[] {
  const lines = text.split(/\r?\n/);
  const starts = lines.flatMap((line, index) => (line.startsWith(start) ? [index] : []));
  return starts.map((from, index) => ({
    heading: lines[from]!,
    text: lines.slice(from + 1, starts[index + 1]).join('\n'),
  }));
}

function compare(one: string, other: string): number {
  const [a, b] = [one, other].map((version) => version.split('.').map(Number));
  return a!.map((part, index) => part - b![index]!).find((difference) => difference !== 0) ?? 0;
}
