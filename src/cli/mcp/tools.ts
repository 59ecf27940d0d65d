import type { Tool } from './tool.ts';
import { deliveryTools } from './tools/deliveries.ts';
import { destinationTools } from './tools/destinations.ts';
import { endpointTools } from './tools/endpoints.ts';
import { followTools } from './tools/follow.ts';
import { paymentTools } from './tools/payments.ts';
import { projectTools } from './tools/projects.ts';
import { recordTools } from './tools/records.ts';
import { replayTools } from './tools/replays.ts';

/** All tools. None of them touches wallets, domains, members, or API keys, and none deletes anything. */
export const TOOLS: readonly Tool[] = [
  ...projectTools,
  ...endpointTools,
  ...paymentTools,
  ...deliveryTools,
  ...followTools,
  ...replayTools,
  ...destinationTools,
  ...recordTools,
];
