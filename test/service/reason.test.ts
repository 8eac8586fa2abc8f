import { describe, expect, it } from 'vitest';
import { crashed, failureFromChild } from '../../src/media/failures.ts';
import { reasonOf } from '../../src/cli/reason.ts';
import { ReelmendConnectionError, ReelmendTimeoutError } from '../../src/sdk/index.ts';

describe('the reason of a failure, at the command line', () => {
  it('is the engine’s own sentence where it is about the machine, also with a path in it', () => {
    const message = 'This build has no CUDA stages (run scripts/setup-gpu and build again).';
    const failure = failureFromChild({ code: 'unavailable', message });
    expect(failure.message).toBe('The video could not be processed.');
    expect(reasonOf(failure)).toBe(message);
    const older = 'The addon build/native/Release/reelmend.node is older than this program; run scripts/build-native.';
    expect(reasonOf(failureFromChild({ code: 'internal', message: older }))).toBe(older);
    expect(reasonOf(failureFromChild({ code: 'io', message: 'The disk is full: /tmp/x.' }))).toBe('The disk is full: /tmp/x.');
  });

  it('is the public sentence for what an untrusted video makes the child say', () => {
    const failure = failureFromChild({ code: 'unreadable_video', message: 'evil\u001b[2J' });
    expect(reasonOf(failure)).toBe('The video could not be processed.');
    expect(reasonOf(failureFromChild({ code: 'unavailable', message: 'evil\u001b[2J' }))).toBe('The video could not be processed.');
    expect(reasonOf(new Error('first\nsecond'))).toBe('first');
  });

  it('mentions memory where the system killed the child', () => {
    const sentence = 'The system killed the process that works on the video, probably because it lacks memory.';
    expect(reasonOf(crashed({ code: null, signal: 'SIGKILL' }, ''))).toBe(sentence);
    expect(reasonOf(crashed({ code: 137, signal: null }, 'last words'))).toBe(sentence);
    expect(reasonOf(crashed({ code: null, signal: 'SIGTERM' }, ''))).toBe('The processing of the video was interrupted.');
  });

  it('adds what the innermost cause of a lost connection says, in one line', () => {
    const lost = (cause: unknown) => reasonOf(new ReelmendConnectionError('The service did not respond.', { cause: new TypeError('fetch failed', { cause }) }));
    expect(lost(new Error('getaddrinfo ENOTFOUND reelmend.example.com'))).toBe('The service did not respond: getaddrinfo ENOTFOUND reelmend.example.com.');
    expect(lost(new Error('self-signed certificate'))).toBe('The service did not respond: self-signed certificate.');
    // What Node throws for a host name with several addresses.
    expect(lost(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe('The service did not respond: ECONNREFUSED.');
    expect(lost(new Error('evil\n\u001b[2J'))).toBe('The service did not respond: evil [2J.');
    expect(lost(undefined)).toBe('The service did not respond: fetch failed.');
    expect(reasonOf(new ReelmendConnectionError('Expired.', { cause: new Error('Expired.') }))).toBe('Expired.');
    expect(reasonOf(new ReelmendTimeoutError('The service did not respond within 5 ms.'))).toBe('The service did not respond within 5 ms.');
  });

  it('is what failed in TLS, without the places in its source code', () => {
    const tls = (cause: string) => reasonOf(new ReelmendConnectionError('The service did not respond.', { cause: new Error(cause) }));
    const wrongVersion = 'error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:77:';
    for (const start of ['409D2F5BD77F0000:', 'write EPROTO 409D2F5BD77F0000:']) {
      expect(tls(`${start}${wrongVersion}\n`)).toBe('The service did not respond: the server does not speak https; try http.');
    }
    const refused = '80ABF2:error:0A000410:SSL routines:ssl3_read_bytes:ssl/tls alert handshake failure:../ssl/record/rec_layer_s3.c:918:SSL alert number 40';
    expect(tls(refused)).toBe('The service did not respond: TLS: ssl/tls alert handshake failure.');
  });

  it('names the path of a failed system call', () => {
    expect(reasonOf(Object.assign(new Error('ENOENT'), { path: 'a/b', errno: -2 }))).toBe('a/b: no such file or directory.');
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { errno: -28, code: 'ENOSPC', syscall: 'write' });
    expect(reasonOf(full)).toBe('Writing a file failed: no space left on device.');
  });
});
