-- Save the next version of a record and its event, or neither.
-- KEYS: bodies, filed, texts, lists, events, number, lists of events, emptied events.
-- ARGV: field, place, version, token, body, filed, text, how many of these: number, emptied event …; event, its list …
local version, token = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '0 - ', '^(%d+) (%S+) ')
-- The first try was done and its reply was lost.
if version == ARGV[3] and token == ARGV[4] then return 1 end
if tonumber(version) + 1 ~= tonumber(ARGV[3]) then return 0 end

-- First the command that is refused when memory is short: after it none is.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5])
local before, new, old = redis.call('HGET', KEYS[2], ARGV[1]), {}, {}
-- Damaged marks name no lists; they are replaced below.
pcall(function() for _, head in ipairs(cjson.decode(before).lists) do old[#old + 1] = head .. '' end end)
for _, head in ipairs(cjson.decode(ARGV[6]).lists) do new[head] = true end
for _, head in ipairs(old) do
  if not new[head] then redis.call('ZREM', KEYS[4], head .. ARGV[2]) end
  new[head] = nil
end
for head in pairs(new) do redis.call('ZADD', KEYS[4], 0, head .. ARGV[2]) end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[6])
if ARGV[7] ~= '' then redis.call('HSET', KEYS[3], ARGV[1], ARGV[7]) end

-- An entry of a stream cannot be changed: it is taken out, and what is left of it stands beside the stream.
local last = 8 + tonumber(ARGV[8])
for n = 9, last, 2 do
  redis.call('XDEL', KEYS[5], string.match(ARGV[n], '0*(%d+)$') .. '-0')
  redis.call('ZREMRANGEBYLEX', KEYS[8], '(' .. ARGV[n] .. '\0', '(' .. ARGV[n] .. '\1')
  redis.call('ZADD', KEYS[8], 0, ARGV[n] .. '\0' .. ARGV[n + 1])
end
if ARGV[last + 1] == '' then return 1 end

local number = string.format('%.0f', redis.call('INCR', KEYS[6]))
redis.call('XADD', KEYS[5], number .. '-0', 'event', ARGV[last + 1])
for n = last + 2, #ARGV do
  redis.call('ZADD', KEYS[7], 0, ARGV[n] .. '\0' .. string.rep('0', 18 - #number) .. number)
end
return 1
