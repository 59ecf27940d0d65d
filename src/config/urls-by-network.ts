import { z } from 'zod';
import { findNetwork } from '../gateway/chain/networks.ts';

/** A JSON object with a URL for each network. The keys can be CAIP-2 IDs or x402 version 1 names. */
export const urlsByNetwork = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const result = z.record(z.string(), z.url({ protocol: /^https?$/ })).safeParse(jsonOf(text));
  if (!result.success) {
    const message = 'must be a JSON object with an http(s) URL for each network';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
  const urls: Record<string, string> = {};
  for (const [name, url] of Object.entries(result.data)) {
    const network = findNetwork(name);
    if (network) urls[network.id] = url;
    else context.addIssue({ code: 'custom', message: `${name} is not a network that this version supports` });
  }
  return urls;
});

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
