import type { Chain } from '../chain/chain.ts';
import type { Facilitator } from '../chain/facilitator.ts';

/** The facilitator and the chain for each network that the server supports, by CAIP-2 ID. */
export type Settlements = ReadonlyMap<string, { facilitator: Facilitator; chain: Chain }>;
