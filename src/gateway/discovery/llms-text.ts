import { formatUsd } from '../../money.ts';
import type { Catalog, Offer } from './catalog.ts';
import { writeWhileFitting } from './document-size.ts';
import { GUIDANCE } from './openapi.ts';
import { escapeMarkdown, oneLine } from './plain-text.ts';

const MAX_NAME_CHARACTERS = 200;
const MAX_DESCRIPTION_CHARACTERS = 1_000;

/**
 * A summary for language models, in Markdown as https://llmstxt.org describes it. All text from the seller is escaped
 * and on one line, so it can't add a heading or a link.
 *
 * @param base the base URL for the endpoint paths
 */
export function llmsTextOf({ name, description, contact, offers, leftOut }: Catalog, base: string): string {
  const listed = writeWhileFitting(offers, (offer) => line(offer, base));
  const unlisted = leftOut + offers.length - listed.length;
  const lines = [
    `# ${plain(name, MAX_NAME_CHARACTERS)}`,
    '',
    ...(description ? [`> ${plain(description, MAX_DESCRIPTION_CHARACTERS)}`, ''] : []),
    GUIDANCE,
    '',
    '## Endpoints',
    '',
    ...listed,
    ...(unlisted > 0 ? [`- and ${unlisted} more`] : []),
    '',
    '## Reference',
    '',
    `- [OpenAPI](${base}/openapi.json): parameters, schemas, examples, and prices`,
    ...(contact ? [`- Contact: ${plain(contact, MAX_DESCRIPTION_CHARACTERS)}`] : []),
    '',
  ];
  return lines.join('\n');
}

function line({ path, description, protocol, methods, priceAtomic, tags }: Offer, base: string): string {
  const unit = protocol === 'MCP' ? 'tool call' : 'request';
  const price = priceAtomic === 0n ? 'Free.' : `${formatUsd(priceAtomic)} USD per ${unit}.`;
  const kind = protocol === 'MCP' ? 'MCP server (Streamable HTTP). ' : '';
  const about = description ? `${plain(description, MAX_DESCRIPTION_CHARACTERS)} ` : '';
  const topics = tags.length > 0 ? ` Topics: ${tags.map((tag) => plain(tag, MAX_NAME_CHARACTERS)).join(', ')}.` : '';
  // Parentheses would end the link.
  const url = `${base}${path}`.replaceAll('(', '%28').replaceAll(')', '%29');
  return `- [${methods.join(', ')} ${escapeMarkdown(path)}](${url}): ${kind}${about}${price}${topics}`;
}

const plain = (text: string, maxCharacters: number) => escapeMarkdown(oneLine(text, maxCharacters));
