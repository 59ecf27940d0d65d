import type { PreviewImportMutation } from '../../../generated/console/imports.ts';

/** The document's source, in the format that the API expects. */
export type ImportSource = { document?: string; url?: string; upstreamUrl?: string };
export type ImportPreview = NonNullable<PreviewImportMutation['previewImport']>;

/** The name of the dialog's draft. If there is one, the page opens the dialog again. */
export const IMPORT_DRAFT = 'import';
