import { json, jsonParseLinter } from '@codemirror/lang-json';
import { syntaxTree } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { type EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { type ReactNode, useEffect, useState } from 'react';
import type { JsonFault } from '../api/json-check.ts';
import { CodeEditor } from './code-editor.tsx';

type SyntaxNode = ReturnType<typeof syntaxTree>['topNode'];
export type JsonCheck = (value: unknown) => readonly JsonFault[];

const setCheck = StateEffect.define<JsonCheck>();
const currentCheck = StateField.define<JsonCheck>({
  create: () => () => [],
  update: (check, { effects }) => effects.findLast((effect) => effect.is(setCheck))?.value ?? check,
});

const JSON_EXTENSIONS: Extension = [
  json(),
  currentCheck,
  lintGutter(),
  linter(findFaults, {
    needsRefresh: ({ startState, state }) => startState.field(currentCheck) !== state.field(currentCheck),
  }),
];
const parseFaults = jsonParseLinter();

/** A JSON editor that marks syntax errors and the problems that `check` finds. Blank text isn't checked. */
export function JsonEditor(props: {
  label: string;
  description?: ReactNode;
  error?: string | undefined;
  value: string;
  onChange(value: string): void;
  check: JsonCheck;
  keys?: Extension;
  minLines: number;
  maxLines: number;
}) {
  const { check, keys, ...field } = props;
  const [view, setView] = useState<EditorView>();
  const [extensions] = useState<Extension>(() => [keys ?? [], JSON_EXTENSIONS]);
  useEffect(() => {
    view?.dispatch({ effects: setCheck.of(check) });
  }, [view, check]);
  return <CodeEditor {...field} extensions={extensions} onView={setView} />;
}

function findFaults(view: EditorView): readonly Diagnostic[] {
  const text = view.state.doc.toString();
  if (text.trim() === '') return [];
  const syntaxFaults = parseFaults(view);
  if (syntaxFaults.length > 0) return syntaxFaults;
  return view.state
    .field(currentCheck)(JSON.parse(text))
    .map(({ pointer, message }) => ({
      ...rangeOf(view.state, pointer),
      severity: 'error',
      message,
    }));
}

const PUNCTUATION: ReadonlySet<string> = new Set(['[', ']', ',', '⚠']);

function itemsOf(array: SyntaxNode): SyntaxNode[] {
  const items: SyntaxNode[] = [];
  for (let child = array.firstChild; child; child = child.nextSibling)
    if (!PUNCTUATION.has(child.name)) items.push(child);
  return items;
}

const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');

/** The range of text to underline for a value: its field name if it has one, or else the value. */
function rangeOf(state: EditorState, pointer: string): { from: number; to: number } {
  let node = syntaxTree(state).topNode.firstChild;
  let range = { from: 0, to: state.doc.length };
  for (const part of pointer.split('/').slice(1)) {
    if (node?.name === 'Object') {
      const property = node.getChildren('Property').find((child) => {
        const name = child.firstChild!;
        return JSON.parse(state.sliceDoc(name.from, name.to)) === unescaped(part);
      });
      if (!property) return range;
      range = { from: property.firstChild!.from, to: property.firstChild!.to };
      node = property.lastChild;
    } else {
      node = (node?.name === 'Array' ? itemsOf(node)[Number(part)] : undefined) ?? null;
      if (!node) return range;
      range = { from: node.from, to: node.to };
    }
  }
  return range;
}
