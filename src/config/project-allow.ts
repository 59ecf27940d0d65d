import { anyOf, type EgressAllow, parseEgressAllow } from '../egress/allow-list.ts';
import { isId } from '../ids.ts';

/** The private targets that the service may call for projects: as upstreams, or as webhooks. */
export type ProjectAllow = {
  /**
   * The targets that a project can use in addition to public ones. Returns the same object for every call.
   */
  of: (projectId: string) => EgressAllow;
  /** The targets that at least one project can use. */
  any: EgressAllow;
  openings: Opening[];
};

/** `entry` is the target as written. Without `projectIds`, all projects may use it. */
type Opening = { entry: string; projectIds: string[]; allow: EgressAllow };

/**
 * Parses a comma-separated list of entries like those of `EGRESS_ALLOW`. To limit an entry to some projects, append `@`
 * and their IDs, joined by `+`: `10.0.0.7/32:8080, 10.1.0.0/16:*@proj_a+proj_b`.
 *
 * @param base the targets that all projects may use.
 * @throws Error that names the entry and the problem.
 */
export function parseProjectAllow(text: string, base: EgressAllow): ProjectAllow {
  const openings = text.trim() === '' ? [] : text.split(',').map((entry) => parseOpening(entry.trim()));
  const allowFor = (chosen: Opening[]) =>
    chosen.length === 0 ? base : anyOf(base, ...chosen.map(({ allow }) => allow));
  const forAll = openings.filter(({ projectIds }) => projectIds.length === 0);
  const common = allowFor(forAll);
  const named = new Set(openings.flatMap(({ projectIds }) => projectIds));
  const byProject = new Map(
    Array.from(named, (projectId) => {
      const own = openings.filter(({ projectIds }) => projectIds.includes(projectId));
      return [projectId, allowFor([...forAll, ...own])];
    }),
  );
  return { of: (projectId) => byProject.get(projectId) ?? common, any: allowFor(openings), openings };
}

function parseOpening(text: string): Opening {
  const [entry = '', projects, ...rest] = text.split('@');
  const allow = parseEgressAllow(entry);
  // parseEgressAllow reads empty text as an empty list.
  if (allow.entries.length === 0 || rest.length > 0)
    throw new Error(`Invalid entry "${text}": use CIDR:port or CIDR:port@project, such as 10.0.0.7/32:8080@proj_….`);
  const projectIds = projects === undefined ? [] : projects.split('+').map((id) => id.trim());
  const unknown = projectIds.find((id) => !isId('Project', id));
  if (unknown !== undefined)
    throw new Error(`Invalid entry "${text}": "${unknown}" isn't a project ID. Join several IDs with +.`);
  return { entry: entry.trim(), projectIds, allow };
}
