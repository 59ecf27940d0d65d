import { z } from 'zod';
import type { EndpointProtocol } from '../../generated/prisma/client.ts';
import { parseUsd, USD_PATTERN } from '../../money.ts';
import { type Nullable, optionalText } from '../../validation.ts';
import { createUpstreamUrls, NO_OPENINGS, type UrlInput } from '../urls/project-url.ts';
import { type DiscoveryInput, discoveryInput } from './discovery.ts';
import { forwardedHeadersInput } from './forwarded-headers.ts';
import { methodsInput } from './methods-input.ts';
import { canonicalPath, PATH_LIMITS } from './path.ts';
import { protocolInput } from './protocol.ts';
import { type SettlementInput, settlementInputs } from './settlement.ts';
import { type UpstreamHeadersInput, upstreamHeadersShape } from './upstream-headers.ts';

export type CreateEndpointInput = UpstreamHeadersInput & {
  path: string;
  upstreamUrl: string;
  priceUsd: string;
  description?: string | null;
  forwardedHeaders?: string[] | null;
  methods?: string[] | null;
  protocol?: EndpointProtocol | null;
} & DiscoveryInput &
  SettlementInput;
export type UpdateEndpointInput = Nullable<CreateEndpointInput & { isActive: boolean }>;

const pathInput = z
  .string()
  .meta(PATH_LIMITS)
  .transform((text, context) => {
    const result = canonicalPath(text);
    if (result.ok) return result.path;
    context.addIssue({ code: 'custom', message: result.message });
    return z.NEVER;
  });

export const priceInput = z
  .string()
  .meta({ pattern: USD_PATTERN.source })
  .transform((text, context) => {
    const priceAtomic = parseUsd(text);
    if (priceAtomic !== undefined) return priceAtomic;
    context.addIssue({
      code: 'custom',
      message:
        'Must be a decimal string with at most 12 digits before the decimal point and 6 after it, for example, "0.01".',
    });
    return z.NEVER;
  });

/** Check a new endpoint and changes to an endpoint. */
export function createEndpointInputs({ input: upstreamUrl }: UrlInput) {
  const createInput = z.strictObject({
    path: pathInput,
    upstreamUrl,
    priceUsd: priceInput,
    description: optionalText(1000),
    forwardedHeaders: forwardedHeadersInput.meta({ default: [] }).optional(),
    ...upstreamHeadersShape,
    // The default depends on the protocol.
    methods: methodsInput.optional(),
    protocol: protocolInput.meta({ default: 'HTTP' }).optional(),
    ...discoveryInput,
    ...settlementInputs,
  });
  return { createInput, updateInput: createInput.partial().extend({ isActive: z.boolean().optional() }) };
}

/** The rules that don't depend on a server's configuration. */
export const ENDPOINT_RULES = createEndpointInputs(createUpstreamUrls(NO_OPENINGS));
