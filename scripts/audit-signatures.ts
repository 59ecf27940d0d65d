/** The outcome of `npm audit signatures`. */
export type Audit = {
  /** A sentence for people. */
  summary: string;
  faults: string[];
  /** Whether the signatures of all packages were checked and are valid. */
  isVerified: boolean;
};

type Item = { name: string; version: string };
type Output = { invalid?: Item[]; missing?: Item[]; error?: { code?: string; summary?: string } };

/** The registry can't be reached, or has no keys. npm says nothing about the packages then. */
const UNAVAILABLE =
  /ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|FETCH_ERROR|E5\d\d|request to .* failed|supported registry|No .* keys/i;

/** Reads what `npm audit signatures --json` prints. */
export function readAudit(stdout: string): Audit {
  const { invalid, missing, error } = parse(stdout);
  if (invalid && missing) {
    const faults = [
      ...invalid.map(({ name, version }) => `${name}@${version} has an invalid signature`),
      ...missing.map(
        ({ name, version }) => `${name}@${version} has no signature, although its registry signs packages`,
      ),
    ];
    const summary = faults.length === 0 ? 'Their signatures are valid.' : `${faults.length} signatures are wrong.`;
    return { summary, faults, isVerified: faults.length === 0 };
  }
  const reason = [error?.code, error?.summary].filter(Boolean).join(': ') || stdout.trim().slice(0, 200) || 'no output';
  if (UNAVAILABLE.test(reason))
    return { summary: `SKIPPED: their signatures could not be checked (${reason}).`, faults: [], isVerified: false };
  return {
    summary: 'Their signatures could not be checked.',
    faults: [`npm audit signatures failed: ${reason}`],
    isVerified: false,
  };
}

function parse(stdout: string): Output {
  try {
    return JSON.parse(stdout) as Output;
  } catch {
    return {};
  }
}
