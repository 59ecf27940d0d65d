import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';
import { link, type PicturePage } from './page.ts';

type Field = { name: string; value: string; inline: boolean };
type Embed = {
  title: string;
  url?: string;
  description?: string;
  color: number;
  fields: Field[];
  footer: { text: string };
  timestamp: string;
};

const STYLE = `
html { background: #313338; }
.frame { width: 600px; padding: 16px 20px; background: #313338; color: #dbdee1; display: flex; gap: 16px; }
.avatar { flex: none; width: 40px; height: 40px; border-radius: 50%; background: #5865f2; color: #fff; font: bold 18px/40px 'Liberation Sans'; text-align: center; }
.from { font-size: 16px; color: #f2f3f5; margin-bottom: 4px; }
.app { background: #5865f2; color: #fff; font-size: 10px; padding: 1px 5px; border-radius: 3px; margin: 0 4px; }
.time { color: #949ba4; font-size: 12px; }
.embed { background: #2b2d31; border-left: 4px solid; border-radius: 4px; padding: 12px 16px; width: 500px; font-size: 14px; }
.title { font-size: 16px; font-weight: bold; color: #f2f3f5; }
.title a, a { color: #00a8fc; }
.description { margin-top: 4px; }
.fields { display: grid; grid-template-columns: repeat(12, 1fr); gap: 8px; margin-top: 8px; overflow-wrap: anywhere; }
.name { font-weight: bold; color: #f2f3f5; }
.footer { font-size: 12px; margin-top: 8px; }
`;

/** Renders an embed the way Discord shows it (https://discord.com/developers/docs/resources/message#embed-object). */
export function discordPage(body: string): PicturePage {
  const { username, embeds }: { username: string; embeds: [Embed] } = JSON.parse(body);
  const [{ title, url, description, color, fields, footer, timestamp }] = embeds;
  const heading = url ? link(url, plain(title)) : escapeHtml(plain(title));
  const time = new Date(timestamp).toLocaleString('en-US', { dateStyle: 'short', timeStyle: 'short', timeZone: 'UTC' });
  return {
    style: STYLE,
    body: `<div class="frame"><div class="avatar">${escapeHtml(username[0]!)}</div><div>
<div class="from">${escapeHtml(username)} <span class="app">APP</span> <span class="time">Today at 9:26 AM</span></div>
<div class="embed" style="border-color:#${color.toString(16).padStart(6, '0')}">
<div class="title">${heading}</div>
${description ? `<div class="description">${markdown(description)}</div>` : ''}
<div class="fields">${spans(fields).map(showField).join('')}</div>
<div class="footer">${escapeHtml(footer.text)} • ${escapeHtml(time)}</div>
</div></div></div>`,
  };
}

/** Up to three inline fields share the width of a row. */
function spans(fields: readonly Field[]): [Field, number][] {
  const rows: Field[][] = [];
  for (const field of fields) {
    const last = rows.at(-1);
    if (last && field.inline && last[0]!.inline && last.length < 3) last.push(field);
    else rows.push([field]);
  }
  return rows.flatMap((row) => row.map((field): [Field, number] => [field, 12 / row.length]));
}

function showField([{ name, value }, span]: [Field, number]): string {
  return `<div style="grid-column:span ${span}"><div class="name">${escapeHtml(name)}</div>${markdown(value)}</div>`;
}

/** The parts of Discord's Markdown that our messages use: masked links and escaped characters. */
function markdown(text: string): string {
  return text
    .split(/((?<!\\)\[[^\]]*\]\(<?[^<>()]*>?\))/)
    .map((part) => {
      const [, label, url] = /^\[([^\]]*)\]\(<?([^<>()]*)>?\)$/.exec(part) ?? [];
      return url === undefined ? escapeHtml(plain(part)) : link(url, label!);
    })
    .join('');
}

function plain(text: string): string {
  return text.replace(/\\(.)/g, '$1');
}
