import { builder } from '../../schema/builder.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import {
  type ProjectUpstreamHeader as ProjectHeader,
  projectHeaderRules,
  upstreamHeaderRules,
} from './upstream-headers.ts';

const MASKED_VALUE = 'The header’s value, masked as `••••` followed by at most its last four characters.';
const VALUE =
  'The header’s value: visible ASCII characters, for example, "Bearer …". If you send a masked value back, the value doesn’t change.';

export const UpstreamHeader = builder.simpleObject('UpstreamHeader', {
  description: 'A header that the gateway adds to requests to an endpoint’s upstream.',
  fields: (t) => ({
    name: t.string({ description: 'The name of the header.' }),
    value: t.string({ description: MASKED_VALUE }),
  }),
});

export const UpstreamHeaderInput = builder.inputType('UpstreamHeaderInput', {
  description: 'A header for the gateway to add to requests to an endpoint’s upstream.',
  extensions: checkedBy(upstreamHeaderRules),
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name of the header. Some names aren’t allowed.' }),
    value: t.string({ required: true, description: VALUE }),
  }),
});

export const ProjectUpstreamHeader = builder.objectRef<ProjectHeader>('ProjectUpstreamHeader').implement({
  description: 'A header that the gateway adds to requests to a project’s upstreams.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name of the header.' }),
    value: t.exposeString('value', { description: MASKED_VALUE }),
    urlPrefix: t.exposeString('urlPrefix', {
      description:
        'Only upstreams at or under this URL get the header. The URL’s secrets are masked for API keys and for the role `VIEWER`.',
    }),
  }),
});

export const ProjectUpstreamHeaderInput = builder.inputType('ProjectUpstreamHeaderInput', {
  description: 'A header for the gateway to add to requests to a project’s upstreams.',
  extensions: checkedBy(projectHeaderRules),
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name of the header. Some names aren’t allowed.' }),
    value: t.string({ required: true, description: VALUE }),
    urlPrefix: t.string({
      required: true,
      description:
        'Only upstreams at or under this URL get the header, for example, "https://api.example.com/v1". ' +
        'If you change the URL, send the value again.',
    }),
  }),
});
