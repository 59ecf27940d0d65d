import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';
import type { PicturePage } from './page.ts';

type Run = { text: string; weight?: string; size?: string; isSubtle?: boolean };
type Element =
  | { type: 'Container'; style: string; items: Element[] }
  | { type: 'TextBlock'; text: string }
  | { type: 'RichTextBlock'; inlines: Run[]; spacing?: string };
type Card = { body: Element[]; actions?: { title: string; url: string }[] };

const STYLE = `
html { background: #f5f5f5; }
.frame { width: 640px; padding: 16px 20px; background: #f5f5f5; color: #242424; font-size: 14px; line-height: 20px; }
.from { font-size: 12px; color: #616161; margin-bottom: 6px; }
.from b { color: #242424; }
.card { background: #fff; border: 1px solid #e0e0e0; border-radius: 4px; overflow: hidden; padding-bottom: 12px; overflow-wrap: anywhere; }
.container { padding: 12px 16px; margin-bottom: 4px; }
.good { background: #e7f2da; } .attention { background: #fdeff1; } .warning { background: #fbf6d9; } .accent { background: #ebf3fc; }
.block { font-size: 17px; line-height: 24px; font-weight: bold; }
.text { padding: 8px 16px 0; } .text.Small { padding-top: 3px; } .container .text { padding: 2px 0 0; }
.Bolder { font-weight: bold; } .subtle { color: #616161; } .small { font-size: 12px; }
.actions { padding: 12px 16px 0; display: flex; gap: 8px; }
.action { border: 1px solid #d1d1d1; border-radius: 4px; padding: 5px 12px; font-weight: bold; }
`;

/** Renders an Adaptive Card the way Teams shows it (https://learn.microsoft.com/en-us/adaptive-cards/). */
export function teamsPage(body: string): PicturePage {
  const card: Card = JSON.parse(body).attachments[0].content;
  const actions = (card.actions ?? []).map(
    ({ title, url }) => `<span class="action" title="${escapeHtml(url)}">${escapeHtml(title)}</span>`,
  );
  return {
    style: STYLE,
    body: `<div class="frame"><div class="from"><b>Workflows</b> &nbsp; 9:26 AM</div>
<div class="card">${card.body.map(show).join('')}${actions.length > 0 ? `<div class="actions">${actions.join('')}</div>` : ''}</div></div>`,
  };
}

function show(element: Element): string {
  if (element.type === 'Container')
    return `<div class="container ${element.style}">${element.items.map(show).join('')}</div>`;
  if (element.type === 'TextBlock') return `<div class="block">${escapeHtml(element.text)}</div>`;
  const runs = element.inlines.map(({ text, weight = '', size, isSubtle }) => {
    const classes = [weight, ...(isSubtle ? ['subtle'] : []), ...(size ? [size.toLowerCase()] : [])].join(' ');
    return `<span class="${classes}">${escapeHtml(text)}</span>`;
  });
  return `<div class="text ${element.spacing ?? ''}">${runs.join('')}</div>`;
}
