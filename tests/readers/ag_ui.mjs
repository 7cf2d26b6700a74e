// AG-UI's client, driven line by line: a command comes in as JSON, every event and every result goes out as JSON.
import { createInterface } from 'node:readline'

const { url, id, token, agent: name, client = '@ag-ui/client' } = JSON.parse(process.argv[2])
const { HttpAgent, runHttpRequest, transformHttpEventStream } = await import(client)
// As CopilotKit's own agent connects: the client has no address for it.
class Connected extends HttpAgent {
  connect(input) {
    return transformHttpEventStream(runHttpRequest(() => fetch(`${this.url}/connect`, this.requestInit(input))))
  }
}
const agent = new Connected({
  url: `${url}/agui/${name}`,
  threadId: id,
  headers: { authorization: `Bearer ${token}` },
})
const tell = what => console.log(JSON.stringify(what))
const told = { onEvent: ({ event }) => tell({ event }) }
const run = parameters => agent.runAgent(parameters, told)
const commands = {
  connect: () => agent.connectAgent({}, told),
  say: (text, id) => {
    agent.addMessage({ id: id ?? crypto.randomUUID(), role: 'user', content: text })
    return run({})
  },
  start: forwardedProps => run({ forwardedProps }),
  resume: resume => run({ resume }),
  forget: () => { agent.pendingInterrupts = [] },
}
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line)
  Promise.resolve(commands[name](...given)).then(
    () => tell({ did: name, messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts }),
    error => tell({ did: name, failed: String(error) }),
  )
}
process.exit()
