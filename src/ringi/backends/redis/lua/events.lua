-- Read the events on a list. KEYS: events, lists of events. ARGV: list, after, how many.
local head, found = '(' .. ARGV[1] .. '\0', {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], head .. ARGV[2], head .. ':', 'LIMIT', 0, ARGV[3])) do
  local id = string.match(member, '0*(%d+)$') .. '-0'
  found[#found + 1] = redis.call('XRANGE', KEYS[1], id, id)[1]
end
return found
