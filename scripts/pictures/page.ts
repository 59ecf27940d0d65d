import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';

/** A picture's page: what is inside `<body>`, and its styles. The element with the class `frame` is what is pictured. */
export type PicturePage = { style: string; body: string };

const FONT = "'Liberation Sans', Arial, sans-serif";

/** A complete HTML document. It loads nothing. */
export function documentOf({ style, body }: PicturePage): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><style>
* { box-sizing: border-box; margin: 0; }
body { font: 15px/1.46 ${FONT}; width: fit-content; }
a { text-decoration: none; }
code { font-family: 'Liberation Mono', monospace; }
${style}
</style></head><body>${body}</body></html>`;
}

/** A link to nowhere, with its real target as a tooltip, so that it stays in the page. */
export function link(url: string, text: string): string {
  return `<a href="#" title="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
}
