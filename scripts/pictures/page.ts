import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';

/**
 * The HTML page to take a picture of: the contents of `<body>`, and its styles. The picture shows the element with the
 * class `frame`.
 */
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

/** A link to nowhere, so that clicking it doesn't leave the page. The tooltip shows the real target. */
export function link(url: string, text: string): string {
  return `<a href="#" title="${escapeHtml(url)}">${escapeHtml(text)}</a>`;
}
