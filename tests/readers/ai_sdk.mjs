// A chat of the AI SDK, driven line by line: a command comes in as JSON, every state of the chat goes out as JSON.
import { createInterface } from 'node:readline'

const { url, id, token, query = '', messages = [], automatic = false, sdk = 7 } = JSON.parse(process.argv[2])
const version = sdk === 7 ? '' : `-${sdk}`
const { Chat } = await import(`@ai-sdk/react${version}`)
const { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, readUIMessageStream } =
  await import(`ai${version}`)
const transport = new DefaultChatTransport({
  api: `${url}/v1/chat${query}`,
  headers: { authorization: `Bearer ${token}` },
  prepareReconnectToStreamRequest: ({ id }) => ({ api: `${url}/v1/chat/${id}/stream${query}` }),
})
const tell = (more = {}) =>
  console.log(JSON.stringify({ status: chat.status, error: chat.error?.message, messages: chat.messages, ...more }))
const chat = new Chat({
  id,
  messages,
  transport,
  sendAutomaticallyWhen: automatic ? lastAssistantMessageIsCompleteWithApprovalResponses : undefined,
  onFinish: ({ finishReason, isDisconnect }) => tell({ finished: finishReason ?? 'nothing', isDisconnect }),
})
chat['~registerMessagesCallback'](() => tell())
chat['~registerStatusCallback'](() => tell())

const commands = {
  say: (text, files) => chat.sendMessage({ text, files }),
  approve: id => chat.addToolApprovalResponse({ id, approved: true }),
  reject: (id, reason) => chat.addToolApprovalResponse({ id, approved: false, reason }),
  send: () => chat.sendMessage(),
  resume: () => chat.resumeStream(),
  regenerate: () => chat.regenerate(),
  async read(text) {
    const asked = { id: 'm-read', role: 'user', parts: [{ type: 'text', text }] }
    const stream = await transport.sendMessages({ chatId: id, messages: [asked], trigger: 'submit-message' })
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) tell({ read: message })
    tell({ readToTheEnd: true })
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line)
  Promise.resolve(commands[name](...given)).then(() => tell({ did: name }), error => tell({ failed: String(error) }))
}
process.exit()
