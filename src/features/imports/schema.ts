import { builder } from '../../schema/builder.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import type { Change } from './fields.ts';
import { IMPORT_RULES, MAX_ITEMS } from './input.ts';
import type { Problem } from './openapi/document.ts';
import { PREVIEW_STATUSES, type PreviewItem } from './preview-items.ts';
import { IMPORT_STATUSES, type ImportedItem, type ImportService, type Preview } from './service.ts';

declare module '../../schema/context.ts' {
  interface Services {
    imports: ImportService;
  }
}

const PREVIEW_DESCRIPTIONS = {
  NEW: 'The project doesn’t have this endpoint yet.',
  CHANGED: 'The endpoint differs from the document.',
  SAME: 'The endpoint already matches the document.',
  GONE: 'The endpoint isn’t in the document. An import doesn’t change it.',
} as const satisfies Record<(typeof PREVIEW_STATUSES)[number], string>;

const IMPORT_DESCRIPTIONS = {
  CREATED: 'A new endpoint was created.',
  UPDATED: 'The endpoint was updated.',
  SAME: 'The endpoint already matches the document, so nothing was changed.',
  FAILED: 'Nothing was changed; see `error`.',
} as const satisfies Record<(typeof IMPORT_STATUSES)[number], string>;

const PreviewStatus = builder.enumType('ImportPreviewStatus', {
  description: 'How an endpoint in a document compares with the project’s endpoints.',
  values: Object.fromEntries(
    PREVIEW_STATUSES.map((status) => [status, { value: status, description: PREVIEW_DESCRIPTIONS[status] }]),
  ) as Record<PreviewItem['status'], { value: PreviewItem['status']; description: string }>,
});

const ImportStatus = builder.enumType('ImportStatus', {
  description: 'What an import did to an endpoint.',
  values: Object.fromEntries(
    IMPORT_STATUSES.map((status) => [status, { value: status, description: IMPORT_DESCRIPTIONS[status] }]),
  ) as Record<ImportedItem['status'], { value: ImportedItem['status']; description: string }>,
});

const ImportProblem = builder.objectRef<Problem>('ImportProblem').implement({
  description: 'A part of a document that can’t be imported.',
  fields: (t) => ({
    pointer: t.exposeString('pointer', {
      description: 'The location of the problem in the document: a JSON pointer (RFC 6901).',
    }),
    message: t.exposeString('message', { description: 'Why this part can’t be imported.' }),
  }),
});

const ImportChange = builder.objectRef<Change>('ImportChange').implement({
  description: 'A field of an endpoint that an import would change.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'The field’s name.' }),
    before: t.expose('before', {
      type: 'JSON',
      nullable: true,
      description: 'The field’s current value. Null also if the preview would be too large; see `problems`.',
    }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'The field’s value in the document.' }),
  }),
});

const ImportPreviewItem = builder.objectRef<PreviewItem>('ImportPreviewItem').implement({
  description: 'An endpoint that is in the document, in the project, or in both.',
  fields: (t) => ({
    status: t.expose('status', {
      type: PreviewStatus,
      description: 'How the item compares with the project’s endpoints.',
    }),
    path: t.exposeString('path', { description: 'Public path, in canonical form: `/users/:id` for `/users/{id}`.' }),
    methods: t.exposeStringList('methods', { description: 'HTTP methods in the document.' }),
    description: t.exposeString('description', { nullable: true, description: 'Description from the document.' }),
    upstreamUrl: t.exposeString('upstreamUrl', {
      description: 'URL of the API behind the endpoint. If you read this URL with an API key, its secrets are masked.',
    }),
    priceUsd: t.exposeString('priceUsd', {
      nullable: true,
      description: 'Price of the existing endpoint, or the default price of a new one.',
    }),
    mimeType: t.exposeString('mimeType', { nullable: true, description: 'Media type of a successful response.' }),
    tags: t.exposeStringList('tags', { description: 'Tags from the document.' }),
    endpointId: t.exposeID('endpointId', { nullable: true, description: 'The existing endpoint.' }),
    changes: t.field({
      type: [ImportChange],
      description: 'What an import would change.',
      resolve: ({ changes }) => changes,
    }),
    problems: t.exposeStringList('problems', { description: 'What you should know before you import the endpoint.' }),
  }),
});

const ImportError = builder.objectRef<NonNullable<ImportedItem['error']>>('ImportError').implement({
  description: 'Why an endpoint was not imported.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'Error code, as used in other error responses.' }),
    message: t.exposeString('message', { description: 'The error message, which says what to change.' }),
  }),
});

const ImportedEndpoint = builder.objectRef<ImportedItem>('ImportedEndpoint').implement({
  description: 'The result of importing one item.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Public path.' }),
    methods: t.exposeStringList('methods', { description: 'HTTP methods in the document.' }),
    status: t.expose('status', { type: ImportStatus, description: 'The outcome of the import.' }),
    endpointId: t.exposeID('endpointId', {
      nullable: true,
      description: 'The affected endpoint. Null if the project has no such endpoint.',
    }),
    error: t.field({
      type: ImportError,
      nullable: true,
      description: 'Why the import of this item failed.',
      resolve: ({ error }) => error,
    }),
  }),
});

const SOURCE = {
  document: 'The OpenAPI document (3.0, 3.1, or Swagger 2.0) in JSON or YAML, up to 5 MB. Send either this or `url`.',
  url: 'HTTPS URL of the document, which is fetched without credentials.',
  upstreamUrl: 'HTTPS URL of your API. Paths are appended to it. Default: the document’s first server.',
  priceUsd: 'Price per request for new endpoints in USD, for example, "0.01".',
};

builder.relayMutationField(
  'previewImport',
  {
    description: 'An OpenAPI document to compare with the project’s endpoints.',
    extensions: checkedBy(IMPORT_RULES.previewInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project.' }),
      document: t.string({ description: SOURCE.document }),
      url: t.string({ description: SOURCE.url }),
      upstreamUrl: t.string({ description: SOURCE.upstreamUrl }),
      priceUsd: t.string({ description: SOURCE.priceUsd }),
    }),
  },
  {
    description: 'Shows which endpoints an import would create or update. Changes nothing.',
    resolve: (_root, { input: { projectId, ...input } }, { services, viewer, identifyAgain }) =>
      services.imports.preview(viewer, projectId, input, identifyAgain),
  },
  {
    description: 'The result of `previewImport`.',
    outputFields: (t) => ({
      title: t.string({ nullable: true, description: 'Title of the API.', resolve: ({ title }: Preview) => title }),
      description: t.string({
        nullable: true,
        description: 'Description of the API.',
        resolve: ({ description }: Preview) => description,
      }),
      servers: t.stringList({ description: 'The API’s servers.', resolve: ({ servers }: Preview) => servers }),
      items: t.field({
        type: [ImportPreviewItem],
        description: 'The endpoints: those in the document, then the project’s other endpoints.',
        resolve: ({ items }: Preview) => items,
      }),
      problems: t.field({
        type: [ImportProblem],
        description: 'The parts of the document that can’t be imported.',
        resolve: ({ problems }: Preview) => problems,
      }),
    }),
  },
);

const ImportItemInput = builder.inputType('ImportItemInput', {
  description: 'An endpoint to import.',
  extensions: checkedBy(IMPORT_RULES.item),
  fields: (t) => ({
    path: t.string({ required: true, description: 'The endpoint’s path in the preview.' }),
    methods: t.stringList({
      description:
        'The endpoint’s methods in the preview. Required only if the preview has several items with this path.',
    }),
    upstreamUrl: t.string({
      description:
        'The endpoint’s upstream URL in the preview. If the document at `url` has changed since then and now has another one, the item fails.',
    }),
    priceUsd: t.string({
      description:
        'Price per request in USD. Default: the import’s `priceUsd` for a new endpoint, and no change for an existing one.',
    }),
  }),
});

builder.relayMutationField(
  'importEndpoints',
  {
    description: 'An OpenAPI document, and the endpoints to import from it.',
    extensions: checkedBy(IMPORT_RULES.importInput),
    inputFields: (t) => ({
      projectId: t.id({ required: true, description: 'The project to add the endpoints to.' }),
      document: t.string({ description: SOURCE.document }),
      url: t.string({ description: SOURCE.url }),
      upstreamUrl: t.string({ description: SOURCE.upstreamUrl }),
      priceUsd: t.string({ description: SOURCE.priceUsd }),
      items: t.field({
        type: [ImportItemInput],
        required: true,
        description: `The endpoints to create or update, up to ${MAX_ITEMS}. Each counts as a request.`,
      }),
    }),
  },
  {
    description:
      'Creates and updates endpoints from an OpenAPI document, one by one. Each has a result, and if one fails, ' +
      'the others are still imported. Endpoints that already match the document don’t change, so you can repeat an import.',
    resolve: async (_root, { input: { projectId, ...input } }, { services, viewer, identifyAgain }) => ({
      results: await services.imports.import(viewer, projectId, input, identifyAgain),
    }),
  },
  {
    description: 'The result of `importEndpoints`.',
    outputFields: (t) => ({
      results: t.field({
        type: [ImportedEndpoint],
        description: 'The results, in the order of the items.',
        resolve: ({ results }: { results: ImportedItem[] }) => results,
      }),
    }),
  },
);
