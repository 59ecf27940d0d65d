/**
 * Lists the files that skip tests if the machine lacks something. A run uses this list to report what is missing and
 * how to install it.
 */
export const REQUIREMENTS: readonly { files: RegExp; needs: string; how: string }[] = [
  {
    files: /\.browser\.test\.ts$/,
    needs: 'Chromium',
    how: 'Install it (on Debian: apt-get install chromium), or set CHROMIUM to its path.',
  },
  {
    files: /^test\/database\/full-disk\./,
    needs: 'root and `unshare -m`',
    how: 'Run the tests as root on Linux, with util-linux installed.',
  },
  {
    files: /^test\/database\/embedded\//,
    needs: 'root on Linux',
    how: 'Run the tests as root on Linux: PostgreSQL then runs under another account, which must be able to read the checkout.',
  },
  {
    files: /^test\/egress\/namespace\./,
    needs: '`unshare -rn` and `ip`',
    how: 'Install util-linux and iproute2, and allow network namespaces (run as root, or enable user namespaces).',
  },
  {
    files: /^test\/(conformance\/backup-restore|chaos\/point-in-time)\./,
    needs: 'an installed PostgreSQL with pg_dump and pg_restore',
    how: 'Install it (on Debian: apt-get install postgresql).',
  },
  {
    files: /^test\/scripts\/package\./,
    needs: 'a local chain',
    how: 'Run the tests on Linux x86-64, and install the optional packages.',
  },
  {
    files: /^test\/chaos\/failover\./,
    needs: 'Patroni, etcd, HAProxy, PgBouncer, and PostgreSQL 15',
    how: 'Run the tests as root on Debian 12 (apt-get install patroni etcd-server haproxy pgbouncer postgresql).',
  },
  {
    files: /^test\/chaos\/brownout\./,
    needs: 'root, loop devices, and e2fsprogs',
    how: 'Run the tests as root on Linux with loop devices (on Debian: apt-get install e2fsprogs).',
  },
  {
    files: /^test\/chaos\/upgrade\./,
    needs: 'the commit of the last release',
    how: 'Fetch the whole history (git fetch --unshallow).',
  },
  {
    files: /^test\/sdk\/runtimes\.service\./,
    needs: 'Deno and Bun',
    how: 'Run the tests on Linux x86-64 with glibc, for which the packages of the clients have both.',
  },
  { files: /^test\/deploy\/systemd\./, needs: 'systemd-analyze', how: 'Install systemd.' },
  { files: /^test\/deploy\/haproxy\./, needs: 'HAProxy', how: 'Install it (on Debian: apt-get install haproxy).' },
  { files: /^test\/docs\/nginx\./, needs: 'nginx', how: 'Install it (on Debian: apt-get install nginx-light).' },
  {
    files: /^test\/(docs\/pgbouncer|cli\/doctor-connections)\./,
    needs: 'PgBouncer',
    how: 'Install it (on Debian: apt-get install pgbouncer).',
  },
  {
    files: /^test\/docs\/observability\./,
    needs: 'promtool',
    how: 'Install it (on Debian: apt-get install prometheus).',
  },
  {
    files: /^test\/rest\/export\/spreadsheet\./,
    needs: 'LibreOffice Calc',
    how: 'Install it (on Debian: apt-get install --no-install-recommends libreoffice-calc).',
  },
  {
    files: /^test\/cli\/completion\./,
    needs: 'the shells',
    how: 'Install the ones named in the titles (on Debian: apt-get install zsh fish).',
  },
  { files: /^test\/console\/samples\./, needs: 'python3', how: 'Install it (on Debian: apt-get install python3).' },
  {
    files: /^test\/docs\/webhook-verification\./,
    needs: 'the languages of the code samples',
    how: 'Install the ones named in the titles: python3, php-cli, ruby, golang, openjdk or dotnet-sdk.',
  },
  {
    files: /^test\/docs\/code\./,
    needs: 'the programs that check code samples',
    how: 'Install gofmt and python3 (on Debian: apt-get install golang-go python3).',
  },
];

export type LeftOut = { file: string; title: string };

/** Returns lines with the skipped tests and what they require, or no lines if nothing was skipped. */
export function describeLeftOut(skipped: readonly LeftOut[]): string[] {
  if (skipped.length === 0) return [];
  const groups = Map.groupBy(skipped, ({ file }) => REQUIREMENTS.find(({ files }) => files.test(file)));
  return [
    `Left out: ${count(skipped)}.`,
    ...[...groups].flatMap(([requirement, tests]) => [
      requirement
        ? `  ${count(tests)} skipped without ${requirement.needs}. ${requirement.how}`
        : `  ${count(tests)} skipped in the code.`,
      ...listFiles(tests),
    ]),
  ];
}

const count = ({ length }: { length: number }) => (length === 1 ? '1 test' : `${length} tests`);

/** Returns a line for each file, with the title of the test if there is only one. */
function listFiles(tests: readonly LeftOut[]): string[] {
  const files = Map.groupBy(tests, ({ file }) => file);
  return [...files].map(([file, { length, 0: first }]) =>
    length === 1 ? `    ${file}: ${first!.title}` : `    ${file}: ${length} tests`,
  );
}
