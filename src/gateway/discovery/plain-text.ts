/** Control characters, and characters that change the direction or the order of the text around them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;
const MARKDOWN = /[\\`*_{}[\]<>#+!|~&$]/g;

/** A seller's text as one line, so that it can't start another part of the document. Limited in length. */
export function oneLine(text: string, maxCharacters: number): string {
  const characters = [...text.replace(INVISIBLE, ' ').trim()];
  return characters.length <= maxCharacters
    ? characters.join('')
    : `${characters.slice(0, maxCharacters - 1).join('')}…`;
}

/** Escapes text so that Markdown shows it as is. https://spec.commonmark.org/0.31.2/#backslash-escapes */
export function escapeMarkdown(text: string): string {
  return text.replace(MARKDOWN, '\\$&');
}

/**
 * Escapes text for Markdown that may contain HTML, with as few changes as possible for programs that read it as text.
 */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
