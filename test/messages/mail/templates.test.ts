import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import * as base64 from 'nodemailer/lib/base64';
import MailComposer from 'nodemailer/lib/mail-composer';
import MimeNode from 'nodemailer/lib/mime-node';
import * as qp from 'nodemailer/lib/qp';
import PostalMime from 'postal-mime';
import {
  NOTICE_KINDS,
  pageLink,
  type TextKind,
  templateLink,
  urlTemplateProblem,
} from '../../../src/contract/link-templates.ts';
import type { MailBranding, MailContent } from '../../../src/messages/mail/layout.ts';
import { type Addressing, composeMail, textPart } from '../../../src/messages/mail/message.ts';
import {
  composeText,
  type MailFacts,
  renderConfirmCode,
  renderHowToSignIn,
  renderMail,
  renderNotice,
  renderSignInCode,
  type TextFacts,
} from '../../../src/messages/mail/texts.ts';
import { inLanguage, LANGUAGES } from '../../../src/platform/messages/catalogue.ts';
import fc from '../../support/fast-check.ts';
import { urlsIn } from '../../support/smtp.ts';

const LINK = 'https://id.example.org/ui/verify?userId=u1&code=ABCDEFGHJKLM';
const facts = (changes: Partial<MailFacts> = {}): MailFacts => ({
  kind: 'verify_email',
  displayName: 'Ann Example',
  orgName: 'Acme',
  userName: 'ann',
  link: LINK,
  expiresAt: new Date('2026-02-03T04:05:06Z'),
  ...changes,
});
const address = {
  id: '7',
  createdAt: new Date('2026-01-31T12:00:00.123Z'),
  from: 'Muster <no-reply@id.example.org>',
  toName: 'Ann Example',
  toAddress: 'ann@example.com',
};

describe('the text of an email', () => {
  for (const kind of ['verify_email', 'initialise', 'reset_password'] as const) {
    it(`holds one URL, the link (${kind})`, () => {
      const { text, html } = renderMail(facts({ kind }));
      assert.deepEqual(urlsIn(text).map(String), [LINK]);
      assert.match(text, /3 February 2026, 04:05 UTC/);
      assert.match(text, /Hello Ann Example,/);
      assert.ok(html.includes('href="https://id.example.org/ui/verify?userId=u1&amp;code=ABCDEFGHJKLM"'));
    });
  }

  it('omits names that contain a link', () => {
    for (const bad of ['see https://evil.example/?userId=1&code=2', 'HTTP://evil.example', 'www.evil.example']) {
      const { subject, text } = renderMail(
        facts({ kind: 'initialise', displayName: bad, orgName: bad, userName: bad }),
      );
      assert.deepEqual(urlsIn(text).map(String), [LINK]);
      assert.ok(!`${subject}${text}`.toLowerCase().includes('evil'), text);
    }
  });

  it('takes names as text: the syntax of message formats means nothing, and marks of direction are left out', () => {
    const name = '{x, plural, one {# user} other {# users}} {0} %s';
    const marked = `\u200f\u202e${name}\u061c\u2066\u200e`;
    for (const kind of ['verify_email', 'initialise', 'reset_password'] as const) {
      const { subject, text, html } = renderMail(
        facts({ kind, displayName: marked, orgName: marked, userName: marked }),
      );
      assert.ok(text.includes(`Hello ${name},`) && html.includes(`Hello ${name},`) && subject.includes(name), text);
      assert.doesNotMatch(`${subject}${text}${html}`, /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    }
  });

  it('escapes names in HTML and loads nothing', () => {
    const { html } = renderMail(facts({ displayName: `<img src=x onerror="a">&'`, orgName: '</title><script>' }));
    assert.ok(html.includes('&lt;img src=x onerror=&quot;a&quot;&gt;&amp;&#39;'));
    assert.doesNotMatch(html, /<(img|script|link|iframe|object)\b|\bsrc=["']|url\(/i);
  });
});

/** One mail of each kind. */
function everyKind(branding?: MailBranding): MailContent[] {
  const code = { displayName: 'Ann', orgName: 'Acme', code: '12345678', link: LINK, expiresAt: facts().expiresAt };
  return [
    ...(['verify_email', 'initialise', 'reset_password', 'add_passkey'] as const).map((kind) =>
      renderMail(facts({ kind }), branding),
    ),
    ...NOTICE_KINDS.map((kind) => renderNotice({ kind, orgName: 'Acme', recoveryLeft: 3 }, branding)),
    renderHowToSignIn({ displayName: 'Ann', orgName: 'Acme', userName: 'ann', byAddress: true, link: LINK }, branding),
    renderSignInCode('sign_in', code, branding),
    renderSignInCode('factor_mail', code, branding),
    renderConfirmCode(code, branding),
  ];
}

describe('the language of an email', () => {
  it('is that of the work that renders it, for every kind and with its dates; nothing is left in English', () => {
    const english = new Set(everyKind().flatMap(({ subject, text }) => [subject, ...text.split('\n\n')]));
    const same = new Set([LINK, `${LINK}\n`, '12345678']);
    for (const language of LANGUAGES.filter((one) => one !== 'en')) {
      for (const content of inLanguage({ user: language }, everyKind)) {
        assert.equal(content.language, language);
        for (const part of [content.subject, ...content.text.split('\n\n')]) {
          assert.ok(same.has(part) || !english.has(part), `${language}: ${part}`);
        }
      }
    }
    const { text, html } = inLanguage({ user: 'de-CH' }, () => renderMail(facts({ kind: 'initialise' })));
    assert.match(text, /^Guten Tag Ann Example,\n\nSie haben ein neues Konto bei Acme\. Ihr Benutzername ist ann\. /);
    assert.match(text, /\n\nPasswort festlegen:\n\nhttps:/);
    assert.match(text, /läuft am 3\. Februar 2026, 04:05 Uhr UTC ab\./);
    assert.match(html, /<html lang="de" dir="ltr">/);
  });
});

describe('the layout', () => {
  it('has light and dark colours, a preheader, and the address below the button, and no wider parts than a phone', () => {
    for (const { html, subject } of everyKind()) {
      assert.match(html, /<meta name="color-scheme" content="light dark">/, subject);
      assert.match(html, /<meta name="supported-color-schemes" content="light dark">/, subject);
      assert.match(html, /@media \(prefers-color-scheme:dark\)\{/, subject);
      assert.match(html, /<div style="display:none;[^"]*mso-hide:all">[A-Z][^<]{30}/, subject);
      const addresses = [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
      assert.ok(addresses.length === 0 || (addresses.length === 2 && addresses[0] === addresses[1]), subject);
      assert.doesNotMatch(html, /(?<!max-|min-)width(:|=")(3\d\d|[4-9]\d\d|\d{4})/, subject);
    }
  });

  it('has the name, the logo, the colours and the links of the branding, each as far as it is there', () => {
    const branding: MailBranding = {
      name: 'Acme & Söhne',
      logo: { url: 'https://id.example.org/logo.png', width: 120, height: 40 },
      light: { button: '#0a7d32', link: '#0a7d32' },
      dark: { button: '#7ee2a0', onButton: '#00210b' },
      radius: 4,
      helpUrl: 'https://acme.example/help',
      termsUrl: 'https://acme.example/terms',
      privacyUrl: 'https://acme.example/privacy',
      supportAddress: 'help@acme.example',
      own: { paragraphs: ['We moved to a new sign-in page <today>.'], greets: false, namesUser: false },
    };
    for (const { html, text, subject } of everyKind(branding)) {
      assert.match(
        html,
        /<img src="https:\/\/id\.example\.org\/logo\.png" alt="Acme &amp; Söhne" width="120" height="40"/,
      );
      assert.doesNotMatch(html, /<img [^>]*[";]width:\d/, 'without pictures, the name is as wide as it is');
      assert.match(html, /\.button\{background:#7ee2a0!important;color:#00210b!important\}/, subject);
      assert.match(html, /border-radius:4px/);
      assert.ok(html.includes('We moved to a new sign-in page &lt;today&gt;.'), subject);
      assert.ok(text.includes('\n\nWe moved to a new sign-in page <today>.\n\n'), subject);
      assert.ok(
        text.endsWith(
          '\n\nQuestions? Write to help@acme.example.\n\nHelp: https://acme.example/help\n\nTerms: https://acme.example/terms\n\nPrivacy: https://acme.example/privacy\n',
        ),
      );
      for (const page of ['help', 'terms', 'privacy']) assert.ok(html.includes(`href="https://acme.example/${page}"`));
    }
    assert.match(renderMail(facts(), branding).html, /background:#0a7d32/);
    assert.match(renderMail(facts(), { name: 'Acme' }).html, /<p style="[^"]*font-weight:700">Acme<\/p>/);
    const dark = renderMail(facts(), { theme: 'dark' }).html;
    assert.match(dark, /<meta name="color-scheme" content="dark">/);
    assert.doesNotMatch(dark, /prefers-color-scheme/);
  });

  it('says the organization’s own words first, and then only what they leave to say', () => {
    const own = (paragraphs: string[], more: Partial<NonNullable<MailBranding['own']>> = {}): MailBranding => ({
      own: { paragraphs, greets: false, namesUser: false, ...more },
    });
    const initialise = facts({ kind: 'initialise' });
    const moved = renderMail(initialise, own(['We have moved.\nWelcome!', 'The team']));
    const words =
      'Hello Ann Example,\n\nWe have moved.\nWelcome!\n\nThe team\n\nYour user name is ann. Please choose a password to get started.\n\nChoose your password:\n\nhttps';
    assert.equal(moved.text.slice(0, words.length), words);
    assert.match(moved.html, /<div style="display:none[^>]*>We have moved\.\nWelcome!<\/div>/, 'the preheader');
    assert.match(
      moved.html,
      />Hello Ann Example,<\/p>\n<p [^>]*>We have moved\.<br>Welcome!<\/p>\n<p [^>]*>The team<\/p>\n<p [^>]*>Your user name is ann\./,
    );
    const arabic = renderMail(initialise, own(['لقد غيّرنا نظامنا.'])).html;
    assert.match(arabic, /<p dir="auto" style="[^"]*;text-align:start">لقد غيّرنا نظامنا\.<\/p>/, 'runs from the right');
    const greeting = own(['Dear Ann,', 'Your name is ann.'], { greets: true, namesUser: true });
    const greeted = renderMail(initialise, greeting);
    assert.match(greeted.text, /^Dear Ann,\n\nYour name is ann\.\n\nPlease choose a password to get started\.\n\n/);
    assert.doesNotMatch(greeted.html, /Hello|Your user name/);
    assert.match(greeted.html, /<div style="display:none[^>]*>Your name is ann\.<\/div>/, 'the preheader');
    assert.match(
      renderMail(facts({ kind: 'verify_email' }), greeting).text,
      /\n\nYour name is ann\.\n\nPlease confirm that this email address is yours\.\n\n/,
    );
    const reset = renderMail(facts({ kind: 'reset_password' }), greeting).text;
    assert.match(reset, /\n\nYour name is ann\.\n\nChoose a new password:\n\nhttps:/);
    assert.match(reset, /The link works once and expires on .*\n\nIf you did not request this/);
  });

  it('takes nothing but colours into its style sheet', () => {
    const { html } = renderMail(facts(), { dark: { button: 'red}</style><script>alert(1)</script>' } });
    assert.doesNotMatch(html, /script|red\}/);
  });
});

describe('a notice', () => {
  it('says what was changed and what to do if it was somebody else, with no link, for every kind', () => {
    for (const kind of NOTICE_KINDS) {
      const { subject, text, html } = renderNotice({ kind, orgName: 'Acme' });
      assert.ok(subject.startsWith('Acme: '), kind);
      assert.match(
        text,
        /^Hello,\n\n.* account.*\n\nIf .*\n\nIf (this was not you|you did not ask for this), .{20}/,
        kind,
      );
      assert.match(text, kind === 'account_deleted' ? /administrator at once/ : /“Forgot password\?”/, kind);
      assert.deepEqual([urlsIn(text), urlsIn(html)], [[], []], kind);
      const { text: anonymous } = renderNotice({ kind, orgName: 'https://evil.example' });
      assert.doesNotMatch(anonymous, /evil| at [.,]| {2}/, kind);
    }
    assert.equal(
      new Set(NOTICE_KINDS.map((kind) => renderNotice({ kind, orgName: '' }).subject)).size,
      NOTICE_KINDS.length,
    );
  });

  it('says how many recovery codes are left', () => {
    const told = (recoveryLeft: number) => renderNotice({ kind: 'recovery_code_used', orgName: '', recoveryLeft }).text;
    assert.match(told(3), /You have 3 recovery codes left\./);
    assert.match(told(1), /You have one recovery code left\./);
    assert.match(told(0), /You have no recovery code left\./);
  });
});

describe('the message', () => {
  it('handles names with line breaks, quotes and any script, without additional headers', async () => {
    const name = 'Žofie "Q" 李\r\nBcc: victim@example.com\r\n\r\nbody';
    const { raw, to } = composeMail(
      { ...address, toName: name },
      renderMail(facts({ displayName: name, orgName: name })),
    );
    const parsed = await PostalMime.parse(raw);
    assert.equal(to, 'ann@example.com');
    assert.equal(parsed.bcc, undefined);
    assert.deepEqual(parsed.to, [{ name: 'Žofie "Q" 李 Bcc: victim@example.com body', address: 'ann@example.com' }]);
    assert.equal(parsed.subject, 'Žofie "Q" 李 Bcc: victim@example.com body: Confirm your email address');
    assert.equal(parsed.headers.filter((h) => h.key === 'to').length, 1);
    assert.match(parsed.text ?? '', /^Hello Žofie "Q" 李 Bcc: victim@example.com body,\n/);
  });

  it('has the same bytes each time, and differs from another mail', async () => {
    const first = composeMail(address, renderMail(facts()));
    assert.deepEqual(composeMail(address, renderMail(facts())).raw, first.raw);
    const other = await PostalMime.parse(composeMail({ ...address, id: '8' }, renderMail(facts())).raw);
    const parsed = await PostalMime.parse(first.raw);
    assert.equal(parsed.messageId, `<mail.7.${address.createdAt.getTime().toString(36)}@id.example.org>`);
    assert.notEqual(other.messageId, parsed.messageId);
    assert.equal(parsed.date, '2026-01-31T12:00:00.000Z');
  });

  it('shows an ASCII link unbroken in the raw file and breaks lines with CRLF only', async () => {
    const raw = composeMail(address, renderMail(facts())).raw.toString('latin1');
    assert.ok(raw.includes(`\r\n${LINK}\r\n`));
    assert.doesNotMatch(raw, /[^\r]\n|\r[^\n]/);
  });

  it('has the bytes that nodemailer itself would build, so that a repeat by another version is the same', async () => {
    const names = [
      'Ann Example',
      "Ann O'Neil",
      'Ann, "Q" (x)',
      'Žofie',
      '李小龍',
      'д'.repeat(900),
      'Ann '.repeat(60),
      'a=b',
      '',
    ];
    for (const name of names) {
      for (const toAddress of ['ann@example.com', `"a b"@example.com`, `${'a'.repeat(64)}@${'b.'.repeat(60)}cz`]) {
        const content = renderMail(facts({ displayName: name, orgName: name, userName: name }));
        const to = { ...address, toName: name, toAddress };
        assert.equal(composeMail(to, content).raw.toString(), (await builtByNodemailer(to, content)).toString());
      }
    }
    const notice = renderNotice({ kind: 'email_changed', orgName: 'Acme' });
    assert.equal(composeMail(address, notice).raw.toString(), (await builtByNodemailer(address, notice)).toString());
    const german = inLanguage({ user: 'de' }, () => renderMail(facts()));
    assert.equal(composeMail(address, german).raw.toString(), (await builtByNodemailer(address, german)).toString());
  });

  it('encodes any text as nodemailer does', () => {
    const char = fc.oneof(
      fc.constantFrom(...'ab =\t\n\r.\0\x7f'),
      fc.constantFrom('\r\n', 'ž', '李', '😀', '\ud83d'),
      fc.string({ maxLength: 90 }),
    );
    const text = fc.array(char, { maxLength: 60 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.constantFrom('text/plain' as const, 'text/html' as const), (content, type) => {
        const encoding = new MimeNode(type).setContent(content).getTransferEncoding() || '7bit';
        const encoders = {
          'quoted-printable': () => qp.wrap(qp.encode(content)),
          base64: () => base64.wrap(base64.encode(content)),
          '7bit': () => content,
        };
        const head = `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
        assert.equal(textPart(type, content), head + encoders[encoding as keyof typeof encoders]());
      }),
    );
  });

  it('accepts every kind of address', async () => {
    for (const [given, expected] of [
      ['a@localhost', 'a@localhost'],
      ['"ann b"@example.com', '"ann b"@example.com'],
      ['"a\\"b"@example.com', '"a\\"b"@example.com'],
      ['ann@[127.0.0.1]', 'ann@[127.0.0.1]'],
      ["o'neil+x@example.com", "o'neil+x@example.com"],
      ['žofie@example.com', 'žofie@example.com'],
      ['ann@příklad.cz', 'ann@xn--pklad-zsa96e.cz'],
    ] as const) {
      assert.equal(composeMail({ ...address, toAddress: given }, renderMail(facts())).to, expected);
    }
  });
});

/** The message by nodemailer's own composer and streams. */
function builtByNodemailer(address: Addressing, content: MailContent): Promise<Buffer> {
  const messageId = `<mail.${address.id}.${address.createdAt.getTime().toString(36)}@id.example.org>`;
  const isReadable = /^[\x20-\x7e\n]*$/.test(content.text) && !/[^\n]{991}/.test(content.text);
  const head = 'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 7bit\n\n';
  return new MailComposer({
    from: address.from,
    to: { name: address.toName.trim(), address: address.toAddress },
    subject: content.subject,
    text: isReadable ? { raw: `${head}${content.text}`.replaceAll('\n', '\r\n') } : content.text,
    html: content.html,
    date: address.createdAt,
    messageId,
    baseBoundary: createHash('sha256').update(messageId).digest('hex').slice(0, 16),
    headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': content.language },
    newline: 'windows',
  })
    .compile()
    .build();
}

describe('a text message', () => {
  const text = (changes: Partial<TextFacts> = {}, kind: TextKind = 'verify_phone') =>
    composeText(kind, {
      id: '7',
      createdAt: new Date('2026-01-31T12:00:00.123Z'),
      expiresAt: new Date('2026-01-31T12:10:00.123Z'),
      to: '+41791234567',
      orgName: 'Acme',
      code: 'ABCDEFGHJKLM',
      ...changes,
    });

  it('says whose code it is, its purpose and its lifetime, without a URL', () => {
    const message = text();
    const expected =
      'Acme: ABCDEFGHJKLM is your code to confirm your phone number. It works once and expires in 10 minutes.';
    assert.deepEqual([message.to, message.text], ['+41791234567', expected]);
    assert.deepEqual(text(), message);
    assert.notEqual(text({ id: '8' }).key, message.key);
    const toSignIn =
      'Acme: 12345678 is your code to sign in. Do not share it. It works once and expires in 10 minutes.';
    assert.equal(text({ code: '12345678' }, 'sign_in_text').text, toSignIn);
    assert.equal(text({ code: '12345678' }, 'factor_text').text, toSignIn);
  });

  it('is in the language of the work that composes it, and one message in each', () => {
    for (const language of LANGUAGES) {
      for (const kind of ['verify_phone', 'sign_in_text', 'factor_text'] as const) {
        const said = inLanguage({ user: language }, () => text({ orgName: 'A'.repeat(200) }, kind)).text;
        assert.ok(said.length <= 160, `${language} ${kind}: ${said.length}`);
        assert.equal(said.includes(' is your code'), language === 'en', said);
      }
    }
  });

  it('fits into one message, and omits names that phones would turn into a link', () => {
    assert.ok(text({ orgName: 'A'.repeat(200) }).text.length <= 160);
    for (const orgName of ['', 'evil.example', 'see https://evil.example', 'www.evil.example']) {
      assert.match(text({ orgName }).text, /^ABCDEFGHJKLM is your code/);
    }
    assert.deepEqual(urlsIn(text({ orgName: 'https://a.b' }).text), []);
  });

  it('requires a phone number', () => {
    assert.throws(() => text({ to: null }), /no phone number/);
  });
});

describe('links', () => {
  const parts = { userId: "auth0|60425dc4/(a)'b c", orgId: 'org&1', code: 'ABCDEFGHJKLM' };

  it('encode ids so that no program ends the link early', () => {
    const link = pageLink('https://id.example.org/sub', 'initialise', parts);
    assert.equal(
      link,
      'https://id.example.org/sub/ui/init?userId=auth0%7C60425dc4%2F%28a%29%27b%20c&code=ABCDEFGHJKLM',
    );
    assert.equal(new URL(link).searchParams.get('userId'), parts.userId);
  });

  it('fill in a URL template', () => {
    const template = 'https://app.example/v?userId={{.UserID}}&code={{ .Code }}&org={{.OrgID}}';
    assert.equal(urlTemplateProblem(template), undefined);
    const url = new URL(templateLink(template, parts));
    assert.deepEqual(Object.fromEntries(url.searchParams), { userId: parts.userId, code: parts.code, org: 'org&1' });
  });

  it('reject templates that give no valid link', () => {
    for (const template of [
      '',
      '/v?c={{.Code}}',
      'javascript:{{.Code}}',
      'https://a.b/{{.Password}}',
      'https://a.b/ {{.Code}}',
    ]) {
      assert.ok(urlTemplateProblem(template), template);
    }
  });
});
