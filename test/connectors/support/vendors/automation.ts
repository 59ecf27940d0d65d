import { N8N_HOST } from '../configs.ts';
import { N8N_RESPONSES, unpublished } from './n8n-responses.ts';
import { bodyOf, json, text, type Vendor } from './vendor.ts';

const pathCredential: Vendor['credentialIn'] = ({ url }) => url.pathname;

export const zapier = (): Vendor => ({
  hosts: ['hooks.zapier.com'],
  credentialIn: pathCredential,
  // Zapier accepts every call, even if no Zap uses the hook.
  refuse: () => undefined,
  vendorResponse(call) {
    bodyOf(call);
    return json(200, { status: 'success', id: 'r1', request_id: 'r1', attempt: 'r1' });
  },
});

export const n8n = (): Vendor => ({
  hosts: [N8N_HOST],
  credentialIn: pathCredential,
  refuse: ({ url }) => unpublished(url.pathname.replace(/^\/webhook\//, '')),
  vendorResponse(call) {
    bodyOf(call);
    return N8N_RESPONSES.started;
  },
});

export const make = (): Vendor => ({
  hosts: ['hook.eu2.make.com'],
  credentialIn: pathCredential,
  refuse: () => text(410, 'Gone'),
  vendorResponse(call) {
    bodyOf(call);
    return text(200, 'Accepted');
  },
});
