/** `muster mails`: shows mails as people get them, and sends the caller a sample. */
import { PREVIEW_KINDS } from '../../contract/link-templates.ts';
import { command, group } from '../command.ts';
import { writeMail } from '../import/mails.ts';
import { argument, text } from '../options.ts';
import { findOrg } from '../service/find.ts';

const KIND = { ...argument('kind of mail'), choices: PREVIEW_KINDS } as const;
const OF = {
  kind: KIND,
  org: text('organization whose mail it is: id, name or domain (default: your own)'),
  language: text('language tag, such as de (default: that of users who prefer none)'),
} as const;

const preview = command({
  usage: 'preview <kind>',
  describe: 'show a mail as a user of an organization gets it; nothing is sent',
  options: {
    ...OF,
    output: {
      ...text('folder for its HTML and its text, or a file that ends in .html or .txt (default: print the text)'),
      alias: 'o',
    },
  },
  examples: [
    ['$0 mails preview initialise --org acme --language de', 'print the invitation in German'],
    [
      '$0 mails preview initialise --org acme --output mails',
      'write mails/initialise.en.html and mails/initialise.en.txt',
    ],
  ],
  async run({ out, api }, { kind, language, output, ...given }) {
    const org = given.org && (await findOrg(api, given.org));
    const mail = await api.call('previewMail', {
      ...(org ? { org } : {}),
      body: { kind, ...(language ? { language } : {}) },
    });
    out.result(mail);
    if (output === undefined) {
      out.line(`${mail.subject}\n\n${mail.text.trimEnd()}`);
      return;
    }
    for (const file of await writeMail(output, kind, mail)) out.line(`Wrote ${file}.`);
  },
});

const sample = command({
  usage: 'sample <kind>',
  describe: 'send yourself a sample of a mail, to your verified address',
  options: OF,
  examples: [['$0 mails sample initialise --org acme --language de', 'see it in your own mail program']],
  async run({ out, api }, { kind, language, ...given }) {
    const org = given.org && (await findOrg(api, given.org));
    const sent = await api.call('sendSampleMail', {
      ...(org ? { org } : {}),
      body: { kind, ...(language ? { language } : {}) },
    });
    out.result(sent);
    out.line(`The mail goes to ${sent.address}. Its code is made up.`);
  },
});

export const mails = group('mails', 'see mails as people get them, before any is sent', [preview, sample]);
