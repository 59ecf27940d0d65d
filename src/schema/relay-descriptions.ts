/** Descriptions of the types and arguments that the Relay plugin makes by itself. */
export const RELAY_DESCRIPTIONS = {
  nodeTypeOptions: { description: 'An object that can be found by its id.' },
  idFieldOptions: { description: 'Identifier: a prefix that names the type, and a sortable unique part.' },
  pageInfoTypeOptions: { description: 'Where a page stands in its list.' },
  hasNextPageFieldOptions: { description: 'Whether there is more behind this page.' },
  hasPreviousPageFieldOptions: { description: 'Whether there is more before this page.' },
  startCursorFieldOptions: { description: 'Cursor of the first item; null on an empty page.' },
  endCursorFieldOptions: { description: 'Cursor of the last item; null on an empty page.' },
  pageInfoFieldOptions: { description: 'Where this page stands in the list.' },
  cursorFieldOptions: { description: 'Pass it as `after` or `before` to go on from here.' },
  firstArgOptions: { description: 'Size of the page, from its start: 1 to 100. Default 20.' },
  lastArgOptions: { description: 'Size of the page, from its end: 1 to 100. Not together with `first`.' },
  afterArgOptions: { description: 'Begin behind this cursor.' },
  beforeArgOptions: { description: 'End before this cursor.' },
} as const;
