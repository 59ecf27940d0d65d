import type { Network } from './networks.ts';

/** Whether a project accepts real money. */
export type ProjectMode = 'LIVE' | 'TEST';

/**
 * A project's mode on this server. On a server with only test networks, every project is a test project, even if it was
 * created before projects had a mode.
 */
export function modeOn(served: readonly Network[], stored: ProjectMode): ProjectMode {
  const hasOnlyTestNetworks = served.length > 0 && served.every(({ isTestnet }) => isTestnet);
  return hasOnlyTestNetworks ? 'TEST' : stored;
}

/** The networks that projects in this mode can use. */
export function networksFor(served: readonly Network[], mode: ProjectMode): Network[] {
  return served.filter(({ isTestnet }) => isTestnet === (mode === 'TEST'));
}

/**
 * The networks that buyers can pay a project on, preferred first. Empty if the server no longer serves any of them: the
 * project's owner decides where the money goes, so no other network replaces them.
 *
 * @param project `networks`: CAIP-2 IDs. An empty list means every network for the project's mode.
 */
export function networksTaken(
  served: readonly Network[],
  project: { mode: ProjectMode; networks: readonly string[] },
): readonly Network[] {
  const possible = networksFor(served, modeOn(served, project.mode));
  if (project.networks.length === 0) return possible;
  return project.networks.flatMap((chosen) => possible.filter(({ id }) => id === chosen));
}
