import { z } from 'zod';
import { invalidField } from '../../errors.ts';
import { findNetwork, NETWORKS, type Network } from '../../gateway/chain/networks.ts';
import { modeOn, networksFor, type ProjectMode } from '../../gateway/chain/served-networks.ts';

/** Checks only the format. `NetworkRules.idsOf` checks the values, because they depend on the project's mode. */
export const networksInput = z.array(z.string().max(64)).max(NETWORKS.length * 2);
export const modeInput = z.enum(['LIVE', 'TEST']);

export type NetworkRules = ReturnType<typeof createNetworkRules>;

/**
 * Which modes and networks projects can have on this server.
 *
 * @param served the networks that the server supports, preferred first. If this process doesn't know them, the list is
 * empty, and every network is allowed.
 */
export function createNetworkRules(served: readonly Network[]) {
  const possible = served.length > 0 ? served : NETWORKS;
  const modeOf = ({ mode }: { mode: ProjectMode }) => modeOn(served, mode);

  return {
    /** Preferred first. */
    possible,
    modeOf,

    /** The mode of a new project. @throws AppError `VALIDATION_FAILED` if the server has no network for it. */
    newMode(asked: ProjectMode | null | undefined): ProjectMode {
      const mode = asked ?? modeOf({ mode: 'LIVE' });
      if (networksFor(possible, mode).length > 0) return mode;
      const served =
        mode === 'LIVE'
          ? 'accepts payments only on test networks, so all of its projects are test projects'
          : 'doesn’t accept payments on test networks';
      throw invalidField('/mode', `This server ${served}.`);
    },

    /**
     * The CAIP-2 IDs of the networks that a project accepts, without duplicates.
     *
     * @param names CAIP-2 IDs or x402 version 1 names.
     * @throws AppError `VALIDATION_FAILED` with a pointer to the network that isn't allowed.
     */
    idsOf(names: readonly string[], project: { mode: ProjectMode }): string[] {
      const allowed = networksFor(possible, modeOf(project));
      const ids = names.map((name, index) => {
        const network = findNetwork(name);
        if (network && allowed.includes(network)) return network.id;
        const listed = allowed.map(({ id }) => id).join(', ') || 'none';
        throw invalidField(`/networks/${index}`, `Must be one of the networks for this project: ${listed}.`);
      });
      return [...new Set(ids)];
    },
  };
}
