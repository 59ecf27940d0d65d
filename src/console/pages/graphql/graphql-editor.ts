import { Prec } from '@codemirror/state';
import { type EditorView, hoverTooltip, keymap } from '@codemirror/view';
import { graphql, offsetToPos, showInDocsCommand } from 'cm6-graphql';
import type { GraphQLSchema } from 'graphql';
import { getHoverInformation } from 'graphql-language-service';
import { SHORTCUTS } from '../../parts/shortcuts.ts';

/** Makes the shortcut for running the operation work in both editors. */
export function runKeys(start: () => void) {
  const run = () => {
    start();
    return true;
  };
  return Prec.highest(keymap.of([{ key: codeMirrorKey(SHORTCUTS.run.keys[0]), run }]));
}

/**
 * Completion, checks, and documentation from the schema.
 *
 * @param showType is called for the type at the cursor (F12) or the type that is clicked while Ctrl or ⌘ is pressed.
 */
export function graphqlExtensions(schema: GraphQLSchema | undefined, showType: (name: string) => void) {
  const onShowInDocs = (_field?: string, type?: string, parentType?: string) => {
    const name = (type ?? parentType)?.replaceAll(/[[\]!]/g, '');
    if (name) showType(name);
  };
  const keys = [{ key: codeMirrorKey(SHORTCUTS.showDocs.keys[0]), run: showInDocsCommand, preventDefault: true }];
  return [graphql(schema, { onShowInDocs }), keymap.of(keys), schema ? hoverTooltip(hover(schema)) : []];
}

function hover(schema: GraphQLSchema) {
  return ({ state }: EditorView, offset: number) => {
    // The position after the character, so the token before this position is the one under the pointer.
    const position = offsetToPos(state.doc, Math.min(offset + 1, state.doc.length));
    const about = getHoverInformation(schema, state.doc.toString(), position);
    if (typeof about !== 'string' || about === '') return null;
    const word = state.wordAt(offset);
    const create = () => {
      const dom = document.createElement('div');
      dom.className = 'cm-hover';
      dom.textContent = about;
      return { dom };
    };
    return { pos: word?.from ?? offset, ...(word && { end: word.to }), above: true, create };
  };
}

/** `mod+Enter` is `Mod-Enter` in CodeMirror. */
function codeMirrorKey(keys: string): string {
  return keys.replace('mod+', 'Mod-');
}
