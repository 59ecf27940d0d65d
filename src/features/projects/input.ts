import { z } from 'zod';
import type { ProjectMode } from '../../generated/prisma/client.ts';
import { lineOfText, type Nullable } from '../../validation.ts';
import { createUpstreamUrls, NO_OPENINGS, type UrlInput } from '../urls/project-url.ts';
import { gatewayHostInput, type HostRules } from './gateway-host.ts';
import { milestonesInput } from './milestones.ts';
import { modeInput, networksInput } from './networks.ts';
import { publicProfileInput } from './public-profile.ts';
import { slugInput } from './slugs.ts';
import { timeZoneInput } from './time-zone.ts';
import { type ProjectHeadersInput, projectHeadersShape } from './upstream-headers.ts';
import { walletAddressInput } from './wallet-address.ts';

export type CreateProjectInput = ProjectHeadersInput & {
  name: string;
  walletAddress: string;
  gatewayHost?: string | null;
  milestonesUsd?: string[] | null;
  mode?: ProjectMode | null;
  networks?: string[] | null;
  timeZone?: string | null;
  description?: string | null;
  iconUrl?: string | null;
  contact?: string | null;
};
export type UpdateProjectInput = Nullable<Omit<CreateProjectInput, 'mode'> & { slug: string }>;

/** Check a new project and changes to a project. */
export function createProjectInputs(options: {
  upstreamUrls: UrlInput;
  hostRules: HostRules;
  gatewayDomain: string | undefined;
}) {
  const createInput = z.strictObject({
    name: lineOfText(200),
    walletAddress: walletAddressInput,
    gatewayHost: gatewayHostInput(options.hostRules).nullish(),
    milestonesUsd: milestonesInput.optional(),
    mode: modeInput.nullish(),
    networks: networksInput.meta({ default: [] }).optional(),
    timeZone: timeZoneInput.optional(),
    ...projectHeadersShape(options.upstreamUrls),
    ...publicProfileInput,
  });
  const updateInput = createInput
    .omit({ mode: true })
    .extend({ slug: slugInput(options.gatewayDomain) })
    .partial();
  return { createInput, updateInput };
}

/** The rules that don't depend on a server's configuration. */
export const PROJECT_RULES = createProjectInputs({
  upstreamUrls: createUpstreamUrls(NO_OPENINGS),
  hostRules: { ownHosts: undefined, production: true },
  gatewayDomain: undefined,
});
